"""What came for one subscription, and waits to be used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from msgspec import Struct

from mesh.client.core.unconfirmed import Unconfirmed
from mesh.client.message import Batch, Message
from mesh.errors import MeshError
from mesh.streams.seen import SeenMessages
from mesh.wire.commands import Query, Subscribe
from mesh.wire.envelope import ERASED, INITIAL, UNCONFIRMED, Envelope, as_ranges

INBOX = 0  # the number of what was sent to the session itself


class Terms(Struct, frozen=True):
    """The terms of a subscription: what gives way when the subscriber does not keep up; see `subscribe`."""

    overflow: str = ""
    max_queue: int = 0


class Intake:
    """The batches of one query. It survives the loss of its node: what it already had is not given twice.

    `stirred` is called when there may be something to take, or an end; `was_used` when something was used up;
    `has_gap` when so many messages were dropped.
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
        self.used: int = 0  # items that were used up, for the node's credit
        self.dropped: int = 0  # messages that this subscriber was too slow for
        self.error: MeshError | None = None  # why nothing more will come
        self.is_left: bool = False  # an inbox that nobody reads at the moment
        self.stirred: Callable[[], None] = _nobody
        self._was_used, self._has_gap = was_used, has_gap
        self._gap = 0  # of what was dropped, what no batch has told yet
        self._seen = SeenMessages()
        self._unconfirmed: Unconfirmed | None = None  # as a rule
        self._was_restarted = False
        self._items: deque[Batch | None] = deque()  # None: an item of repeats, which only counts
        self._given: Batch | None = None  # the last one, until it is used up
        self._held = 0  # batches before that one, which are not used up either

    @property
    def strands(self) -> Sequence[Intake]:
        """The subscriptions at the node that it consists of."""
        return (self,)

    def asked_for(self, request: int, resumed: bool = False) -> Subscribe:
        """The command that makes it, at a node."""
        terms = self.terms
        return Subscribe(
            request, self.number, self.query, self.initial, resumed, terms.overflow, terms.max_queue
        )

    # --- taking -----------------------------------------------------------------------------------------

    @property
    def is_in_use(self) -> bool:
        """Was a batch given that is not counted yet?"""
        return self._given is not None

    def take(self) -> Batch | None:
        """The next one, to be counted when it is used up; None: there is none now."""
        # Not before it is confirmed: if the node is restarted before, what came is void, and comes again.
        while self.confirmed and self._items and not self.is_left:
            batch = self._items.popleft()
            if batch is not None:
                self._given = batch
                return batch
            self.count()
        return None

    def count(self) -> None:
        """A batch is used up: the node may send another."""
        self._given = None
        self.used += 1
        self._was_used(self)

    def hold(self) -> Callable[[], None]:
        """The batch in use stays so while others are taken; to be called when it is used up."""
        self._given = None
        self._held += 1
        return self._release

    def _release(self) -> None:
        self._held -= 1
        self.used += 1
        self._was_used(self)

    def put_back(self, rest: Sequence[Message], failed: bool) -> None:
        """Put back the rest of the last batch, or all of it if its user `failed`: it comes again first."""
        given = self._given
        if given is not None and (rest or failed):
            self._given = None
            self._items.appendleft(given if failed else given.of(rest))
        elif given is not None:
            self.count()

    # --- its life ---------------------------------------------------------------------------------------

    def confirm(self) -> None:
        """The node has it: what came may be given."""
        self.confirmed = True
        self.stirred()

    def pause(self) -> None:
        """An inbox is left: whoever waits for it has its end, and what comes lies here."""
        self.is_left = True
        self.stirred()

    def restarted(self) -> None:
        """The node counts its items anew: so do we, and what still lies here was the old one's."""
        if not self.confirmed:
            # It may be made again later than it was: what came before it holds is none of ours.
            self._items.clear()
            self._seen, self._unconfirmed = SeenMessages(), None
        self._was_restarted = self.confirmed
        self.used = -len(self._items) - (self._given is not None) - self._held

    def end(self, error: MeshError) -> None:
        """Closed, or failed: what arrived can still be taken."""
        if self.error is None:
            self.error = error
            self.stirred()

    # --- coming -----------------------------------------------------------------------------------------

    def arrived(
        self, master: bytes, envelope: Envelope, indices: tuple[int, ...] | None, gap: int, position: int = 0
    ) -> None:
        """An item from the node."""
        if envelope.flags & UNCONFIRMED:
            if self._unconfirmed is None:
                self._unconfirmed = Unconfirmed()
            news = self._unconfirmed.take(envelope, indices, self._seen)
            self._items.append(self._batch_of(envelope, news))
            self.stirred()
            return
        indices, is_late = self._news(master, envelope, indices)
        if self._unconfirmed is not None:
            indices = self._unconfirmed.without(envelope, indices)
        is_direct = bool(envelope.route) and not envelope.route[-1].stratum  # our node is its master
        passed = self._seen.has_passed(master, position, envelope.persistent, is_direct)
        if passed and self.number != INBOX:
            is_late = True  # in its order it would have come before
        if is_late:  # it was dropped for us, or lost with its master, and perhaps we were not told
            gap += envelope.count if indices is None else len(indices)
            indices = ()
        if gap:
            self.missed(gap)
        self._items.append(self._batch_of(envelope, indices))
        self.stirred()

    def missed(self, gap: int) -> None:
        """So many messages were dropped. The next batch tells of it, too."""
        self.dropped += gap
        self._gap += gap
        self._has_gap(self, gap)

    def _batch_of(self, envelope: Envelope, indices: tuple[int, ...] | None) -> Batch | None:
        if indices == ():
            return None
        gap, self._gap = self._gap, 0
        return Batch(envelope, indices, gap)

    def _news(
        self, master: bytes, envelope: Envelope, indices: tuple[int, ...] | None
    ) -> tuple[tuple[int, ...] | None, bool]:
        """(what of it we have not had, whether that comes too late: behind newer ones of its master).

        Then the master was restarted, and what it lost comes again, or its publisher came by another way.
        A persistent message may be news all the same. A last value is the last no more, except to a new
        subscription, which gets those of many topics in any order. That a topic is gone is news too, and so
        is what was sent to us and nobody else.
        """
        stream = (envelope.stream, envelope.domain)
        high = self._seen.high(master, stream)
        is_behind = envelope.first <= high and not envelope.flags & ERASED and self.number != INBOX
        if is_behind and envelope.flags & INITIAL and self._was_restarted:
            return (), False
        runs = [(envelope.first, envelope.last)]
        if indices is None and not envelope.numbers:  # as a rule
            fresh = self._seen.fresh(master, stream, envelope.first, envelope.last)
        else:
            runs = _runs(envelope, indices)
            fresh = [new for run in runs for new in self._seen.fresh(master, stream, *run)]
        if fresh != runs:
            indices = _new_ones(envelope, indices, fresh)
            # Another way may have brought a part of it just before: what is left comes in its order.
            is_behind = is_behind and not (fresh and fresh[0][0] > high)
        return indices, is_behind and not (envelope.persistent or envelope.flags & INITIAL)


def _nobody() -> None:
    """Takes nothing yet."""


def _runs(envelope: Envelope, indices: tuple[int, ...] | None) -> list[tuple[int, int]]:
    """The numbers that are in it: by another way come others of the same envelope."""
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
