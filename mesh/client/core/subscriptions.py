"""The subscriptions of a client: registration, arriving items, and acknowledgement."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from mesh.client.core.calls import Calls, Pending
from mesh.client.core.client_context import NEVER, Alarm, ClientContext
from mesh.client.core.effects import Report
from mesh.client.core.intake import INBOX, Intake, Terms
from mesh.client.core.node_connection import NodeConnection
from mesh.client.core.several import Several, Strand
from mesh.errors import BadQuery, Closed, LocalError, MeshError, SlowConsumer
from mesh.features.services.client.core.requests import REPLIES
from mesh.routing.overflow import overflow
from mesh.values import messages
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope

SomeIndices = tuple[int, ...] | None  # of an envelope's messages; None: all of them

ACK_AFTER = 0.002  # s; an immediate ack would delay the next message
ACK_AT = 16  # unacknowledged messages that are acked together
ACK_LATER = 0.02  # s, for a single short request or reply
SHORT = 4096  # bytes
AMPLE = (4 * ACK_AT * SHORT, 4 * ACK_AT)  # window that ACK_LATER requires: bytes, items

DROPPED = "the messages were read too slowly, or a link from another node or site was full"
ENDED = "the node that had them ended, so their number is unknown"
NAMED = 5  # queries in the report of a gap of unknown size
GAPS_AFTER = 1.0  # s of summing gaps before a report


class Subscriptions:
    """The subscriptions of one session, by number."""

    def __init__(self, context: ClientContext, line: NodeConnection, calls: Calls) -> None:
        self._context, self._line, self._calls = context, line, calls
        self._all: dict[int, Intake] = {}
        self._inbox = Intake(INBOX, c.Query("inbox", "", ""), False, Terms(), self._was_used, self._has_gap)
        self._number = INBOX
        # Receives the items that are not for a subscription, such as requests and replies.
        self.others: Callable[[int, c.ItemHead, Envelope, SomeIndices], None] = lambda *_: None
        self._ack_at = NEVER  # when the next ack is due
        self._alarm: Alarm | None = None  # fires at `_ack_at`
        self._is_ample = False
        self._acked = 0  # number of the last acknowledged ITEMS
        self._gaps: Counter[str] = Counter()  # dropped messages, by query
        self._unknown: dict[str, None] = {}  # queries with a gap of unknown size
        self._told: dict[int, int] = {}  # consumed items reported on this connection
        self._used: dict[int, Intake] = {}  # subscriptions with unreported items
        self._replies = 0  # items of replies, consumed on arrival

    def next_number(self) -> int:
        """Return an unused number for a subscription, service or queue consumer."""
        self._number += 1
        return self._number

    def new_subscription(self, query: c.Query, initial: bool, terms: Terms) -> Intake:
        """Return a subscription that `register` will register. Raises: BadQuery for unknown terms."""
        overflow(terms.overflow)
        return Intake(self.next_number(), query, initial, terms, self._was_used, self._has_gap)

    def make_several(self, queries: Sequence[c.Query], initial: bool, terms: Terms) -> Intake | Several:
        """Return one subscription for all `queries`. Raises: BadQuery for unknown terms."""
        if len(queries) == 1:
            return self.new_subscription(queries[0], initial, terms)
        overflow(terms.overflow)
        numbers = range(self._number + 1, self._number + 1 + len(queries))
        self._number = numbers[-1]
        made = zip(numbers, queries, strict=True)
        strands = [
            Strand(number, query, initial, terms, self._was_used, self._has_gap) for number, query in made
        ]
        return Several(strands, any(query.kind != "exact" for query in queries), self.give_up)

    def inbox(self) -> Intake:
        """Return the intake of the inbox. Raises: BadQuery while the inbox is open."""
        self._check_unread(self._inbox)
        return self._inbox

    def _check_unread(self, s: Intake) -> None:
        if s.number in self._all and not s.is_left:
            what = "The subscription is open already."
            if s.number == INBOX:
                what = "The inbox is open already; a session has one inbox."
            hint = "Leave it first, or read it in one place and distribute the messages."
            raise BadQuery(what, hint=hint)

    def register(self, s: Intake) -> Pending | None:
        """Register a subscription. Raises: BadQuery if it is open.

        Return None if a paused inbox is resumed, which sends nothing.
        """
        self._check_unread(s)
        if s.number in self._all:
            s.is_left = False
            return None
        self._all[s.number] = s

        def confirmed() -> None:
            s.began = _began(pending.parts[0][0])
            s.confirm()

        pending = self._calls.send_with_timeout(
            lambda request: s.asked_for(request, self._line.words), confirmed
        )
        return pending

    def give_up(self, s: Intake) -> None:
        """Drop a failed or abandoned subscription, which the node may have accepted."""
        if self._all.pop(s.number, None) is not None:
            self._calls.send_command(lambda request: c.Unsubscribe(request, s.number))

    def unregister(self, s: Intake) -> Pending | None:
        """End a subscription, or pause the inbox. Return None if there is no reply to wait for."""
        if s.number not in self._all:
            return None
        self.send_ack()  # messages read from an inbox must not return
        if s is self._inbox:
            # Messages keep arriving until the credit is used. The node stores the unread ones.
            s.pause()
            return None
        del self._all[s.number]
        self._told.pop(s.number, None)
        s.end_with(Closed("The subscription has ended."))
        if self._line.is_up:
            return self._calls.send_with_timeout(lambda request: c.Unsubscribe(request, s.number))
        self._calls.send_command(lambda request: c.Unsubscribe(request, s.number))
        return None

    def numbers(self) -> list[int]:
        """Return the numbers of the subscriptions that `resubscribe` registers again, without the inbox."""
        return [n for n, s in self._all.items() if s.confirmed and n != INBOX]

    def received(self) -> list[tuple[int, int]]:
        """Return the number of each subscription in `numbers`, with its number of items from the node."""
        return [(n, self._all[n].received) for n in self.numbers()]

    def resubscribe(self, is_new: bool, window: tuple[int, int], is_moving: bool = False) -> None:
        """Register the confirmed subscriptions again after a reconnect; `Calls` repeats the others.

        `is_new`: the session or the process of the node is new. `window` is the link's limit in bytes and
        items. `is_moving`: the subscriptions are to be resumed from the logs of their masters.
        """
        self._is_ample = window[0] >= AMPLE[0] and window[1] >= AMPLE[1]
        self._acked = 0
        self._told.clear()
        self._used = dict(self._all)
        if is_new:
            self._replies = 0
        for s in self._all.values():
            if is_new:
                s.restarted()
            if s.confirmed:
                # A new process may have lost messages in flight, so the retained values are requested
                # again. Known values are dropped when they arrive.
                since = s.positions() if is_moving else {}
                self._line.send_command(s.asked_for(0, self._line.words, resumed=not is_new, since=since))
        self.plan_ack()  # the last ack may be lost

    def items(self, command: c.Items, envelopes: list[Envelope]) -> None:
        inlet = self._line.inlet
        if not inlet.accept_number(command.seq):
            self.plan_ack()
            return
        is_for_others = True
        for head, envelope in zip(command.heads, envelopes, strict=True):
            gaps = dict(head.gaps)
            for number in gaps if not head.targets else ():  # a gap without a message
                if (subscription := self._all.get(number)) is None:
                    continue
                if gaps[number]:
                    subscription.missed(gaps[number])
                else:
                    subscription.missed_unknown()
            for number, column in head.targets:
                subscription = self._all.get(number)
                if subscription is not None:
                    indices = struct.unpack(f"<{len(column) // 2}H", column) if column else None
                    gap = gaps.get(number, 0)
                    is_for_others = False
                    subscription.on_item(head.master, envelope, indices, gap, head.position)
                else:
                    self._replies += number == REPLIES
                    self.others(number, head, envelope, _indices(column))
        if inlet.have - self._acked >= ACK_AT:
            self.send_ack()
        elif is_for_others and self._is_ample and _is_short(envelopes):
            self.plan_ack(ACK_LATER)
        else:
            self.plan_ack()

    def on_ended(self, command: c.Ended) -> None:
        """End a subscription that the node has ended. Batches that have arrived can still be read."""
        s = self._all.pop(command.subscription, None)
        self._told.pop(command.subscription, None)
        if s is not None:
            if command.code == SlowConsumer.code:
                s.end_with(SlowConsumer(command.text, hint="Subscribe again, and read its messages faster."))
            else:
                s.end_with(LocalError(command.text.removesuffix(f" [{command.code}]"), code=command.code))
        self._calls.send_command(lambda request: c.Unsubscribe(request, command.subscription))

    def _was_used(self, s: Intake) -> None:
        self._used[s.number] = s
        self.plan_ack()

    def _has_gap(self, s: Intake, gap: int) -> None:
        if not (self._gaps or self._unknown):
            self._context.later(GAPS_AFTER, self._tell_gaps)
        what = s.query.text or s.query.kind
        if gap:
            self._gaps[what] += gap
        else:
            self._unknown[what] = None

    def _tell_gaps(self) -> None:
        for what, gap in self._gaps.items():
            self._context.do(Report("gap", f"dropped {messages(gap)} of {what}: {DROPPED}"))
        if self._unknown:
            more = f" and {len(self._unknown) - NAMED:,} more" if len(self._unknown) > NAMED else ""
            queries = ", ".join(islice(self._unknown, NAMED)) + more
            self._context.do(Report("gap", f"may lack transient messages of {queries}: {ENDED}"))
        self._gaps.clear()
        self._unknown.clear()

    @property
    def count(self) -> int:
        """The number of subscriptions with a reader."""
        return sum(not s.is_left for s in self._all.values())

    def plan_ack(self, within: float = ACK_AFTER) -> None:
        """Plan an ack within `within` seconds, for all items that arrive until then."""
        at = self._context.now + within
        if at < self._ack_at:
            alarm = self._context.later(within, self._ring)  # first, as it raises in another thread
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm, self._ack_at = alarm, at

    def _ring(self) -> None:
        self._alarm = None
        self.send_ack()

    def send_ack(self) -> None:
        """Acknowledge the items that have arrived, and report how many were consumed."""
        self._ack_at = NEVER
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._acked = self._line.inlet.have
        # Only changes are reported, because most of a thousand subscriptions are idle.
        news = {n: s.used for n, s in self._used.items() if n in self._all and s.used > self._told.get(n, 0)}
        if self._replies > self._told.get(REPLIES, 0):
            news[REPLIES] = self._replies
        if self._line.send_command(c.Ack(self._acked, tuple(news.items()))):
            self._told |= news
            self._used.clear()

    def end_all(self, error: MeshError) -> None:
        """End all subscriptions: the client is closed. Batches that have arrived can still be read."""
        self._tell_gaps()
        for subscription in self._all.values():
            subscription.end_with(error)
        self._all.clear()
        self._ack_at = -NEVER  # no further acks


def _began(value: Any) -> dict[bytes, int]:
    """Return the first position of a subscription in each master's log, from the reply of the node."""
    said = value.get("since", ()) if isinstance(value, dict) else ()
    pairs = [pair for pair in said if isinstance(pair, list) and list(map(type, pair)) == [bytes, int]]
    return {master: place + 1 for master, place in pairs}


def _is_short(envelopes: Sequence[Envelope]) -> bool:
    return len(envelopes) == 1 == envelopes[0].count and len(envelopes[0].body) <= SHORT


def _indices(column: bytes) -> SomeIndices:
    return struct.unpack(f"<{len(column) // 2}H", column) if column else None
