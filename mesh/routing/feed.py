"""What one subscriber is owed, in order, within its credit.

A feed is a client's subscription, or everything one peer wants from this node. What its credit allows
goes out at once. The rest waits in a backlog: transient messages for as long as the subscriber makes
progress, persistent ones up to a bound. What finds no room is dropped whole, and the gap is told.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from mesh.errors import RemoteError
from mesh.routing.parcel import Parcel
from mesh.wire.commands import Query


@dataclass(frozen=True, slots=True)
class Credit:
    """Bounds of one feed: bytes and items under way, bytes waiting here."""

    bytes: int
    items: int
    backlog: int


@dataclass(slots=True, eq=False)
class Portion:
    """A parcel, or some of its messages (`indices`), for one feed."""

    parcel: Parcel
    indices: tuple[int, ...] | None = None
    waiting: bool = False  # in the backlog

    @property
    def messages(self) -> int:
        return self.parcel.envelope.count if self.indices is None else len(self.indices)

    @property
    def size(self) -> int:
        if self.indices is None:
            return self.parcel.size
        return self.parcel.size * len(self.indices) // self.parcel.envelope.count


PROGRESS = 0.5  # s: a subscriber that took something this recently is slow, not stopped


class Feed:
    """`send` is called with what may go out now, `released` with each parcel nobody here needs any more."""

    def __init__(
        self,
        key: bytes,
        credit: Credit,
        send: Callable[["Feed", Portion], None],
        released: Callable[[Parcel], None],
        peer: bool = False,
    ) -> None:
        self.key = key  # name of its record in the store
        self.queries: dict[Query, int] = {}  # query -> log position from which it counts
        self.floors: dict[bytes, int] = {}  # another master -> where its log was at first
        self.position = 0  # highest position of our log that is settled here
        self.connected = False
        self.gone_since = 0.0
        self.closed = False
        self.delivered = self.dropped = self.gap = 0  # messages; gap = dropped and not yet told
        self._credit = credit
        self._send = send
        self._released = released
        self._peer = peer  # a peer passes on: taking an item does not settle it
        self._backlog: deque[Portion] = deque()
        self._backlog_bytes = 0
        self._flight: deque[Portion] = deque()
        self._flight_bytes = 0
        self._unsettled: deque[Portion] = deque()
        self._unsettled_bytes = 0
        self._trusted = self._trusted_to = 0  # messages given up to a peer unsettled, up to this position
        self._sent = self._used = 0
        self._progress = 0.0

    def offer(self, portion: Portion, now: float) -> None:
        """Sent now, or waiting here, or dropped."""
        if self.closed:
            self._release(portion.parcel)
        elif self.connected and not self._backlog and self._has_credit():
            if not self._flight:
                self._progress = now  # it had nothing to take until now
            self._depart(portion)
        elif self._backlog_bytes >= self._room(portion, now):
            self._drop(portion)
        else:
            portion.waiting = True
            self._backlog.append(portion)
            self._backlog_bytes += portion.size

    def taken(self, total: int, now: float) -> None:
        """The subscriber has used up `total` items so far; what that allows goes out."""
        if total > self._sent:
            raise RemoteError(f"{total} items taken, only {self._sent} were sent", code="FORGED_ACK")
        while self._used < total:
            self._used += 1
            portion = self._flight.popleft()
            self._flight_bytes -= portion.size
            self.delivered += portion.messages
            if self._peer and portion.parcel.position:
                self._keep(portion)
            else:
                self._settle(portion.parcel)
            self._progress = now
        self.pump()

    def connect(self, now: float) -> None:
        """Its connection is here: what waits may go out."""
        self.connected = True
        self._progress = now
        self.pump()

    def pump(self) -> None:
        """Send what waits, as far as the credit reaches."""
        while self.connected and self._backlog and self._has_credit():
            portion = self._backlog.popleft()
            self._backlog_bytes -= portion.size
            self._depart(portion)

    def settled(self, position: int) -> bool:
        """A peer is done with everything up to `position` of our log. Did that change anything?"""
        before = self.position
        while self._unsettled and self._unsettled[0].parcel.position <= position:
            self._settle(self._next_unsettled().parcel)
        if position >= self._trusted_to:
            self._trusted = 0
        return self.position != before

    def restart(self) -> None:
        """The other end forgot what was under way: persistent items go out again, the others are lost."""
        again = list(self._unsettled)
        self.delivered -= sum(portion.messages for portion in again) + self._trusted
        self._miss(self._trusted)
        for portion in self._flight:
            if portion.parcel.position:
                again.append(portion)
            else:
                self._drop(portion)
        self._flight.clear()
        self._unsettled.clear()
        self._flight_bytes = self._unsettled_bytes = self._trusted = self._sent = self._used = 0
        self._backlog.extendleft(reversed(again))
        self._backlog_bytes += sum(portion.size for portion in again)
        for portion in again:
            portion.waiting = True

    def skip(self, position: int) -> None:
        """The subscriber says that it has our log up to here already (it settles it later)."""
        while self._backlog and 0 < self._backlog[0].parcel.position <= position:
            portion = self._backlog.popleft()
            self._backlog_bytes -= portion.size
            portion.waiting = False
            self.delivered += portion.messages
            self._keep(portion)

    def alive(self, now: float) -> bool:
        """Does it make progress? Then publishers do well to wait for it a little."""
        return self.connected and now - self._progress < PROGRESS

    def leave(self, now: float) -> None:
        """Its connection is gone."""
        self.connected = False
        self.gone_since = now

    def close(self) -> None:
        """Nobody wants it any more."""
        self.closed = True
        self.clear()

    def clear(self) -> None:
        """Give up all it was owed."""
        for portion in (*self._flight, *self._backlog, *self._unsettled):
            portion.waiting = False
            self._release(portion.parcel)
        self._flight.clear()
        self._backlog.clear()
        self._unsettled.clear()
        self._flight_bytes = self._backlog_bytes = self._unsettled_bytes = 0

    def take_gap(self) -> int:
        """Messages dropped since this was last asked."""
        gap, self.gap = self.gap, 0
        return gap

    @property
    def line(self) -> int:
        """Items that have left since the last restart, and those that wait to leave."""
        return self._sent + len(self._backlog)

    @property
    def is_owed(self) -> bool:
        """Is anything under way, waiting or unsettled?"""
        return bool(self._flight or self._backlog or self._unsettled)

    @property
    def pending(self) -> int:
        """Messages under way or waiting."""
        return sum(p.messages for p in self._flight) + sum(p.messages for p in self._backlog)

    def _has_credit(self) -> bool:
        return self._flight_bytes < self._credit.bytes and len(self._flight) < self._credit.items

    def _room(self, portion: Portion, now: float) -> int:
        alive = (
            self.connected and now - self._progress < 4 * PROGRESS
        )  # longer: dropping is worse than waiting
        return self._credit.backlog if portion.parcel.position or alive else self._credit.bytes

    def _depart(self, portion: Portion) -> None:
        portion.waiting = False
        self._flight.append(portion)
        self._flight_bytes += portion.size
        self._sent += 1
        self._send(self, portion)

    def _keep(self, portion: Portion) -> None:
        """A peer has it, but has not settled it: it comes again if the peer goes down.

        One stopped subscriber there must not fill the memory here. Beyond the bound the peer is trusted:
        what it then loses by going down is a gap.
        """
        self._unsettled.append(portion)
        self._unsettled_bytes += portion.size
        while self._unsettled_bytes > self._credit.backlog:
            oldest = self._next_unsettled()
            self._trusted += oldest.messages
            self._trusted_to = oldest.parcel.position
            self._settle(oldest.parcel)

    def _next_unsettled(self) -> Portion:
        portion = self._unsettled.popleft()
        self._unsettled_bytes -= portion.size
        return portion

    def _settle(self, parcel: Parcel) -> None:
        if parcel.own:
            self.position = max(self.position, parcel.position)
        self._release(parcel)

    def _miss(self, messages: int) -> None:
        self.dropped += messages
        self.gap += messages

    def _drop(self, portion: Portion) -> None:
        self._miss(portion.messages)
        portion.waiting = False
        self._release(portion.parcel)

    def _release(self, parcel: Parcel) -> None:
        if parcel.position:
            parcel.owed -= 1
            if not parcel.owed:
                self._released(parcel)
