"""The messages of one subscription that wait to be consumed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from mesh.client.batch import Batch
from mesh.client.core.unconfirmed import Unconfirmed
from mesh.client.message import Message
from mesh.errors import MeshError
from mesh.streams.seen import SeenMessages
from mesh.wire.commands import Query, Subscribe
from mesh.wire.envelope import ERASED, INITIAL, LATE, PERSISTENT, UNCONFIRMED, Envelope, as_ranges
from mesh.wire.limits import HISTORY

INBOX = 0  # the subscription number of the inbox
MASTERS = 64  # masters in SUBSCRIBE
IN_A_LOG = PERSISTENT | ERASED  # flags of messages that a master resends
NOWHERE: Mapping[bytes, int] = MappingProxyType({})


class Terms(Struct, frozen=True):
    """The options of a subscription for slow readers; see `subscribe`."""

    overflow: str = ""
    max_queue: int = 0
    history: int = 1


class Intake:
    """The batches of one subscription, which survives the loss of its node. Repeated messages are left out.

    `stirred` is called when a batch may be available or the subscription may have ended, `was_used` when a
    batch was consumed, and `has_gap` with the number of dropped messages, 0 if that is unknown.
    """

    query: Query
    initial: bool
    terms: Terms

    def __init__(
        self,
        number: int,
        query: Query,
        initial: bool,
        terms: Terms,
        was_used: Callable[[Intake], None],
        has_gap: Callable[[Intake, int], None] = lambda intake, gap: None,
    ) -> None:
        self.number = number
        self.query, self.initial, self.terms = query, initial, terms
        self.confirmed: bool = False
        self.used: int = 0  # consumed items, for the node's credit
        self.dropped: int = 0  # messages dropped for this subscriber
        self.unknown_gaps: int = 0  # gaps of unknown size
        self.began: dict[bytes, int] = {}  # by master: the first position of the subscription
        self.error: MeshError | None = None  # reason of the end
        self.is_left: bool = False  # an inbox without a reader
        self.stirred: Callable[[], None] = _nobody
        self._was_used, self._has_gap = was_used, has_gap
        self._gap = 0  # dropped messages, not reported by a batch yet
        self._has_transient = False  # a transient message has arrived
        self._seen = SeenMessages()
        self._unconfirmed: Unconfirmed | None = None  # usually None
        self._was_restarted = False
        self._items: deque[Batch | None] = deque()  # None: repeats, which only count
        self._given: Batch | None = None  # the last batch, until it is consumed
        self._held = 0  # earlier batches that are not consumed

    @property
    def strands(self) -> Sequence[Intake]:
        """The subscriptions at the node that this intake consists of."""
        return (self,)

    def asked_for(
        self,
        request: int,
        words: Container[str] = (),
        resumed: bool = False,
        since: Mapping[bytes, int] = NOWHERE,
    ) -> Subscribe:
        """Return the command for a node with the features `words`; without HISTORY it sends one value.

        `since` has the position in each master's log that the client has.
        """
        terms, places = self.terms, tuple(since.items())[-MASTERS:]
        initial: bool | int = self.initial
        if initial and terms.history > 1 and HISTORY in words:
            initial = terms.history
        return Subscribe(
            request, self.number, self.query, initial, resumed, terms.overflow, terms.max_queue, places
        )

    def positions(self) -> dict[bytes, int]:
        """Return the position in each master's log from which the subscription is to be resumed."""
        return {**self.began, **self._seen.positions()}

    # --- reading ----------------------------------------------------------------------------------------

    @property
    def received(self) -> int:
        """The number of items that the present process of the node has sent, and that have arrived."""
        return self.used + len(self._items) + (self._given is not None) + self._held

    @property
    def is_in_use(self) -> bool:
        return self._given is not None

    def next_batch(self) -> Batch | None:
        """Return the next batch, to be marked as consumed afterwards; None if there is none now."""
        # Before the confirmation, a restart of the node invalidates the items; the node sends them again.
        while self.confirmed and self._items and not self.is_left:
            batch = self._items.popleft()
            if batch is not None:
                self._given = batch
                return batch
            self.mark_consumed()
        return None

    def mark_consumed(self) -> None:
        """Mark the last batch as consumed, so that the node may send another."""
        self._given = None
        self.used += 1
        self._was_used(self)

    def hold_batch(self) -> Callable[[], None]:
        """Keep the batch unconsumed while others are read; return the function that marks it as consumed."""
        self._given = None
        self._held += 1
        return self._release

    def _release(self) -> None:
        self._held -= 1
        self.used += 1
        self._was_used(self)

    def put_back(self, rest: Sequence[Message], failed: bool) -> None:
        """Put back the unread `rest` of the last batch, or the whole batch if its reader `failed`.

        The messages that were put back are read first. If there are none, the batch is marked as consumed.
        """
        given = self._given
        if given is not None and (rest or failed):
            self._given = None
            self._items.appendleft(given if failed else given.of(rest))
        elif given is not None:
            self.mark_consumed()

    # --- lifetime ---------------------------------------------------------------------------------------

    def confirm(self) -> None:
        self.confirmed = True
        self.stirred()

    def pause(self) -> None:
        """Close an inbox: its reader sees the end, and later messages wait in this intake."""
        self.is_left = True
        self.stirred()

    def restarted(self) -> None:
        """Reset the counts for a new session or process of the node, which does not count earlier items.

        An unconfirmed subscription drops the earlier items.
        """
        if not self.confirmed:
            # The new subscription may begin later, so older items do not belong to it.
            self._items.clear()
            self._seen, self._unconfirmed = SeenMessages(), None
        self._was_restarted = self.confirmed
        self.used -= self.received

    def end_with(self, error: MeshError) -> None:
        """End the intake with an error. Batches that have arrived can still be read."""
        if self.error is None:
            self.error = error
            self.stirred()

    # --- arriving ---------------------------------------------------------------------------------------

    def on_item(
        self, master: bytes, envelope: Envelope, indices: tuple[int, ...] | None, gap: int, position: int = 0
    ) -> None:
        if not envelope.flags & IN_A_LOG:
            self._has_transient = True
        if envelope.flags & UNCONFIRMED:
            if self._unconfirmed is None:
                self._unconfirmed = Unconfirmed()
            news = self._unconfirmed.select_new(envelope, indices, self._seen)
            self._items.append(self._batch_of(envelope, news))
            self.stirred()
            return
        indices, is_late, is_overtaken = self._news(master, envelope, indices)
        if self._unconfirmed is not None:
            indices = self._unconfirmed.without(envelope, indices)
        is_direct = bool(envelope.route) and not envelope.route[-1].stratum  # the client's node is its master
        passed = self._seen.has_passed(master, position, envelope.persistent, is_direct)
        if passed and self.number != INBOX:
            is_late = True  # out of order
        if is_late:  # dropped, or lost with its master, maybe unreported
            gap += envelope.count if indices is None else len(indices)
            indices = ()
        if gap:
            self.missed(gap)
        if is_overtaken and indices != ():
            envelope = replace(envelope, flags=envelope.flags | LATE)
        self._items.append(self._batch_of(envelope, indices))
        self.stirred()

    def missed(self, gap: int) -> None:
        """Record `gap` dropped messages, which the `gap` of the next batch includes."""
        self.dropped += gap
        self._gap += gap
        self._has_gap(self, gap)

    def missed_unknown(self) -> None:
        """Record that an unknown number of transient messages may be missing, if there are such messages."""
        if self._has_transient:
            self.unknown_gaps += 1
            self._has_gap(self, 0)

    def _batch_of(self, envelope: Envelope, indices: tuple[int, ...] | None) -> Batch | None:
        if indices == ():
            return None
        gap, self._gap = self._gap, 0
        return Batch(envelope, indices, gap)

    def _news(
        self, master: bytes, envelope: Envelope, indices: tuple[int, ...] | None
    ) -> tuple[tuple[int, ...] | None, bool, bool]:
        """Return the indices of the new messages, None for all, whether they are too late, and overtaken.

        Messages are too late if newer ones of their stream and master arrived before. Persistent messages,
        erasures, retained values and inbox messages are never too late. After a restart, retained values that
        are older than received messages are not new. Messages are overtaken if newer ones of their stream
        arrived before, from any master.
        """
        stream = (envelope.stream, envelope.domain)
        high, top = self._seen.highest(master, stream)
        is_behind = envelope.first <= high and not envelope.flags & ERASED and self.number != INBOX
        if is_behind and envelope.flags & INITIAL and self._was_restarted:
            return (), False, False
        runs = [(envelope.first, envelope.last)]
        if indices is None and not envelope.numbers:  # the usual case
            fresh = self._seen.fresh(master, stream, envelope.first, envelope.last)
        else:
            runs = _runs(envelope, indices)
            fresh = [new for run in runs for new in self._seen.fresh(master, stream, *run)]
        if fresh != runs:
            indices = _new_ones(envelope, indices, fresh)
            # Another route may have brought a part of the envelope just before; the rest is in order.
            is_behind = is_behind and not (fresh and fresh[0][0] > high)
        is_value = envelope.flags & INITIAL > 0 or self.number == INBOX
        is_overtaken = bool(fresh) and fresh[0][0] < top and not is_value
        return indices, is_behind and not (envelope.persistent or envelope.flags & INITIAL), is_overtaken


def _nobody() -> None:
    """Do nothing: there is no reader yet."""


def _runs(envelope: Envelope, indices: tuple[int, ...] | None) -> list[tuple[int, int]]:
    if indices is None:
        return envelope.ranges()
    if not indices:
        return []
    ends = as_ranges(envelope.number_list(indices))
    return list(zip(ends[::2], ends[1::2], strict=True))


def _new_ones(
    envelope: Envelope, indices: tuple[int, ...] | None, fresh: list[tuple[int, int]]
) -> tuple[int, ...]:
    every = range(envelope.count) if indices is None else indices
    numbers = envelope.number_list(every)
    return tuple(i for i, n in zip(every, numbers, strict=True) if any(a <= n <= b for a, b in fresh))
