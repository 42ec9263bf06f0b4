"""Settlements of queue messages, until the node has answered them."""

# Law 1: an unanswered settlement is sent again in every new epoch.
# Law 2: the settlements of one turn of the event loop are sent together.
# Law 3: the end of a block waits for the client's node alone. Another node that delivered the message may be
#        down; its answer is awaited without the caller.

from __future__ import annotations

from collections.abc import Callable

from mesh.client.core.calls import Calls, Pending
from mesh.client.core.client_context import ClientContext
from mesh.client.core.delivered_envelope import (
    ACK,
    GONE,
    HERE,
    DeliveredEnvelope,
    EnvelopePlace,
    SettleEntry,
    Settlement,
    Some,
    as_ranges,
)
from mesh.client.core.effects import Report
from mesh.client.core.node_connection import NodeConnection
from mesh.errors import MeshError
from mesh.wire.commands import EXTEND, NACK, Settle
from mesh.wire.limits import QUEUE_CREDIT
from mesh.wire.replies import read_late

WORDS = 200_000  # bytes in one SETTLE; the limit is 256 KiB


class Settling:
    """The settlements of one consumer.

    `ours` is called with each envelope of which a message no longer belongs to the consumer, or may be
    settled again. `answered` is called after each answer.
    """

    def __init__(
        self,
        context: ClientContext,
        line: NodeConnection,
        calls: Calls,
        number: int,
        ours: Callable[[DeliveredEnvelope], None],
    ) -> None:
        self.answered: Callable[[], None] = lambda: None
        self._context, self._line, self._calls = context, line, calls
        self._number, self._ours = number, ours
        self._epoch = -1  # -1: none is open
        self._opening = 0
        self._said: list[Settlement] = []  # not sent yet
        self._asked: dict[Pending, list[Settlement]] = {}  # sent, and not answered
        self._held: list[tuple[Some, int]] = []  # settled by transactions without an answer; the opening
        self._is_planned = False

    @property
    def owes(self) -> bool:
        return bool(self._said or self._asked or self._held)

    def places(self) -> list[EnvelopePlace]:
        settled = [some for said in self._said if said.what != EXTEND for some in said.of]
        settled += [some for some, _ in self._held]
        return [(delivered, place) for delivered, places in settled for place in places]

    def hold(self, some: Some) -> None:
        """Keep messages that a transaction settles, so that they are listed after a reconnect."""
        self._held.append((some, self._opening))
        self._ours(some[0])

    def release(self, some: Some, is_done: bool) -> None:
        """Keep messages no longer, as their transaction is answered; they may be settled again if refused.

        If the transaction was done before this epoch, its node may have taken returned messages for held
        ones when it restarted. They are returned again.
        """
        at = next(i for i, (each, _) in enumerate(self._held) if each == some)
        _, opening = self._held.pop(at)
        delivered, places = some
        claimed = [place for place in places if delivered.tag_of(place, self._opening)]
        if is_done and claimed and opening != self._opening:
            self.queue_settlement(Settlement(NACK, [(delivered, claimed)]))
        self._ours(delivered)
        self.answered()

    def start_epoch(self, epoch: int, opening: int) -> None:
        """Start a new epoch, in which the messages have new delivery tags, and send pending settlements."""
        self._epoch, self._opening = epoch, opening
        self.flush()

    def on_epoch_end(self) -> None:
        self._epoch = -1
        again: list[Settlement] = []
        for pending, said in self._asked.items():
            self._calls.drop_pending(pending)
            again += said
        self._asked.clear()
        self._said[:0] = again

    def fail_all(self, error: MeshError) -> None:
        self.on_epoch_end()
        said, self._said = self._said, []
        for each in said:
            each.broken(error)

    def queue_settlement(self, said: Settlement) -> None:
        """Queue a settlement, which is sent at the end of this turn of the event loop.

        Without an open epoch, the settlement is sent when the next epoch opens.
        """
        self._said.append(said)
        if not self._is_planned:
            self._context.soon(self._planned)
            self._is_planned = True

    def _planned(self) -> None:
        self._is_planned = False
        self.flush()

    def flush(self) -> None:
        """Send the queued settlements, usually in one command; without an open epoch they stay queued.

        Settlements of messages that the epoch does not include fail.
        """
        if self._epoch < 0 or not self._line.is_up:
            return
        said, self._said = self._said, []
        some: list[Settlement] = []
        size = entries = 0
        for each in said:
            if others := each.keep_tagged(self._opening):
                self._over(each, others, each.left > 0)
            if not each.of:
                continue
            each.kept_elsewhere(self._line.handshake.node)
            more = each.entries()
            if some and (size + each.size > WORDS or entries + len(more) > QUEUE_CREDIT):
                self._settle(some)
                some, size, entries = [], 0, 0
            some.append(each)
            size, entries = size + each.size, entries + len(more)
        if some:
            self._settle(some)

    def _settle(self, some: list[Settlement]) -> None:
        done = as_ranges(count for said in some if said.what == ACK for count in said.counts())
        entries: list[SettleEntry] = [entry for said in some if said.what != ACK for entry in said.entries()]

        def command(request: int) -> Settle:
            return Settle(self._number, self._epoch, done, request=request, entries=tuple(entries))

        pending = self._calls.send_command(command, lambda: self._written(pending))
        pending.refused = lambda error: self._fail_settlements(pending, error)
        self._asked[pending] = some
        for said in some:
            said.left += 1

    def _written(self, pending: Pending) -> None:
        """Resolve the settlements that the node stored, and fail the late ones. Raises: RemoteError."""
        late = [(first, last) for first, last, _ in read_late(pending.parts[-1][0])]
        for each in self._asked.pop(pending):
            if places := each.among(late):
                self._over(each, places, each.left > 1)
            else:
                each.kept()
        self.answered()

    def _over(self, said: Settlement, places: list[EnvelopePlace], may_be_done: bool) -> None:
        """Fail a settlement of messages that no longer belong to this consumer.

        `may_be_done`: the settlement was sent before, and its answer was lost.
        """
        for delivered, place in places:
            delivered.states[place] = GONE
            self._ours(delivered)
        which = "this message" if len(said) <= 1 else f"{len(places):,} of these messages"
        what = f"When the node received the settlement, {which} no longer belonged to this consumer."
        if may_be_done:
            what = f"When the node was reachable again, {which} no longer belonged to this consumer."
        self._fail(said, self.lease_over(what))

    def lease_over(self, what: str) -> MeshError:
        return self._line.standstill.lease_over(what, self._context.now)

    def _fail_settlements(self, pending: Pending, error: MeshError) -> None:
        """Fail settlements that the node could not store; the user may settle the messages again."""
        for each in self._asked.pop(pending, []):
            for delivered, places in each.of if each.what != EXTEND else ():
                for place in places:
                    delivered.states[place] = HERE
                self._ours(delivered)
            self._fail(each, error)
        self.answered()

    def _fail(self, said: Settlement, error: MeshError) -> None:
        """Fail a settlement, and report that if its call has returned."""
        if said.is_implicit and said.promise is not None and said.promise.done():
            self._context.do(Report("settled-late", str(error)))
        said.broken(error)
