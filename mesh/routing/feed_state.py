"""The state of a feed: its queries, its slices in flight and waiting, its counters, and its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from math import inf

from mesh.routing.backlog import Backlog
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.flight import Flight
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.paging import Paging
from mesh.routing.querytrie import wants
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope

Lost = Callable[[Envelope, str, int], None]  # messages lost to the subscriber: envelope, reason, count

# Seconds: a subscriber with progress this recently is slow, not stopped.
PROGRESS = 0.5
# Seconds to wait for a peer that reports being behind and makes no progress. Peers that route for each other
# could otherwise wait for each other forever.
PATIENCE = 10.0


class FeedState:
    """The state of one feed, without the rules for sending, waiting and dropping.

    `released` and `lost` are described at `Feed`.
    """

    is_peer = False
    has_unknown_gap = False  # an unreported gap of unknown size behind all slices
    since: Mapping[Query, Mapping[bytes, int]] = {}  # for peers only

    def __init__(
        self,
        key: bytes,
        credit: Credit,
        overflow: Overflow,
        paging: Paging | None,
        released: Callable[[StoredEnvelope], None],
        lost: Lost,
    ) -> None:
        self.key = key  # name of its record in the store
        self.credit = credit
        self.overflow = overflow
        self.paces = overflow is Overflow.BLOCK  # publishers wait for it while it makes progress
        self.owner = ""  # name of the peer; "" otherwise
        self.queries: dict[Query, int] = {}  # query: log position from which it counts
        self.floors: dict[bytes, int] = {}  # by other master: its log position at the start
        self.position = 0  # highest settled position of this node's log
        self.connected = False
        self.is_held = False  # sends nothing until its first values arrive
        self.history = 1  # initial messages of each topic, at most
        self.arrival = 0  # mark of `Merging`, if it moved here
        self.gone_since = 0.0
        self.closed = False
        self.matched = self.delivered = self.dropped = self.expired = self.buried = 0  # messages
        self.offered = 0  # number of the last slice
        self.coming = 0  # bytes accepted for it and being stored
        self.gap = 0  # unreported dropped messages behind all slices
        # By master: slices that wait until the session's resume of its log is complete; None: not delivered.
        self.aside: dict[bytes, list[EnvelopeSlice] | None] = {}
        self._released = released
        self._lost = lost
        self._backlog = Backlog(credit, overflow, paging)
        self._flight = Flight(credit)
        self._progress = 0.0
        self._said = 0.0  # time of its last report, even without progress
        self._is_overrun = False  # dropped something since its last progress

    # --- queries ----------------------------------------------------------------------------------------

    def add_query(self, query: Query, position: int, since: dict[bytes, int]) -> None:
        """Add a query that is owed messages from `position` of this node's log on.

        `since` has the last positions that are not owed in the logs of other masters, by uuid. Only the feed
        of a peer uses `since`.
        """
        self.queries[query] = position

    def expect(self, stored: StoredEnvelope, sign: int) -> None:
        """Add (`sign` +1) or subtract (-1) the bytes of an accepted envelope that is being stored.

        The caller subtracts them when the envelope is on disk or was refused.
        """
        self.coming += sign * stored.size

    def first_owed_position(self, key: str, domain: str, xml: str = "") -> float:
        """Return the first position in this node's log that is owed for this topic and not settled.

        Return infinity if no query matches the topic.
        """
        asked = (since for query, since in self.queries.items() if wants(query, key, domain, xml))
        return max(self.position + 1, min(asked, default=inf))

    # --- state ------------------------------------------------------------------------------------------

    def masters(self) -> set[bytes]:
        """Return the masters of the slices in flight, waiting or set aside."""
        aside = chain.from_iterable(filter(None, self.aside.values()))
        return {slice_.stored.master for slice_ in chain(self._flight, self._backlog, aside)}

    def alive(self, now: float) -> bool:
        """Return whether the subscriber makes progress, so that publishers should wait for it briefly."""
        return self.connected and now - self._sign_of_life(now) < PROGRESS

    @property
    def stands_since(self) -> float | None:
        """The time of the last progress, or None if disconnected or if nothing was dropped since then."""
        return self._progress if self.connected and self._is_overrun else None

    @property
    def line(self) -> int:
        """The number of items sent since the last restart, plus the number of waiting items."""
        return self._flight.sent + len(self._backlog)

    @property
    def is_owed(self) -> bool:
        """True if anything is in flight, waiting or unsettled."""
        return bool(self._flight or self._backlog)

    @property
    def waiting_bytes(self) -> int:
        return self._flight.bytes + self._backlog.bytes

    @property
    def under_way_bytes(self) -> int:
        """The bytes that were sent and are not processed yet."""
        return self._flight.bytes

    def all_stored(self) -> Iterator[StoredEnvelope]:
        """Yield the stored envelopes in flight, and those waiting in memory that `Memory` does not count."""
        yield from (slice_.stored for slice_ in self._flight)
        for slice_ in self._backlog:
            if not (slice_.stored.own and slice_.is_persistent):
                yield slice_.stored

    @property
    def pending(self) -> int:
        """The number of messages in flight or waiting."""
        return self._flight.messages + self._backlog.messages

    def pending_until(self, number: int) -> int:
        """Return the number of messages in flight or waiting in the slices offered up to that `number`."""
        return self._flight.messages_until(number) + self._backlog.messages_until(number)

    def left_behind(self, received: int) -> int:
        """Return how many messages a subscriber lacks that goes on elsewhere, without those in a log.

        `received` is the number of items that it received since the last restart. First values do not count,
        as the subscriber asks for them again.
        """
        first = self._flight.sent - len(self._flight) + 1  # the number of the first item in flight
        unreceived = (slice_ for number, slice_ in enumerate(self._flight, first) if number > received)
        aside = chain.from_iterable(filter(None, self.aside.values()))
        return self.gap + sum(
            slice_.gap + (0 if slice_.is_persistent or slice_.is_first else slice_.messages)
            for slice_ in chain(unreceived, self._backlog, aside)
        )

    @property
    def items(self) -> int:
        """The number of slices in flight or waiting."""
        return len(self._flight) + len(self._backlog)

    def holds(self, stream: bytes, domain: str, number: int) -> bool:
        """Return whether the message is in flight, or waits in memory."""
        return any(slice_.holds(stream, domain, number) for slice_ in chain(self._flight, self._backlog))

    def _sign_of_life(self, now: float) -> float:
        """Return the time of the last progress, or of a later report until PATIENCE after that progress."""
        progress, said = self._progress, self._said
        return said if said > progress and now - progress < PATIENCE else progress

    # --- slices that leave ------------------------------------------------------------------------------

    def take_gap(self) -> int:
        gap, self.gap = self.gap, 0
        return gap

    def return_gap(self, gap: int) -> None:
        self.gap += gap

    def _leave_gap(self, gap: int) -> None:
        if gap and not self._backlog.leave_gap(gap):
            self.gap += gap

    def _drop(self, slice_: EnvelopeSlice, why: str) -> int:
        """Drop the slice, and return its messages plus the gap before it."""
        self.dropped += slice_.messages
        self._lost(slice_.stored.envelope, why, slice_.messages)
        self.release(slice_.stored)
        return slice_.messages + slice_.take_gap()

    def release(self, stored: StoredEnvelope) -> None:
        """Record that this feed no longer needs an envelope that it was offered."""
        if stored.position:
            stored.owed -= 1
            is_thinner = stored.shares is not None and stored.shares.settle(self)
            if is_thinner or not stored.owed:
                self._released(stored)
            if stored.paged:
                stored.give_away()
