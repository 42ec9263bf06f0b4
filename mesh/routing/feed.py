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
from mesh.wire.envelope import Envelope


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
    number: int = 0  # in the order in which the feed was offered it

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
    """`send` is called with what may go out now, `released` with each parcel nobody here needs any more, or
    (when it is still owed) of which fewer messages may be needed."""

    def __init__(
        self,
        key: bytes,
        credit: Credit,
        send: Callable[["Feed", Portion], None],
        released: Callable[[Parcel], None],
        peer: bool = False,
        keeps: bool = False,
    ) -> None:
        self.key = key  # name of its record in the store
        self.owner = ""  # of a peer: its name
        self.queries: dict[Query, int] = {}  # query -> log position from which it counts
        self.since: dict[Query, dict[bytes, int]] = {}  # of a peer: likewise in the logs of other masters
        self.asked_until: dict[bytes, int] = {}  # master -> the highest of these
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
        self._keeps = keeps  # an inbox drops nothing: whoever fills it asks for room first
        self._offered = 0
        self._backlog: deque[Portion] = deque()
        self._backlog_bytes = 0
        self._flight: deque[Portion] = deque()
        self._flight_bytes = 0
        self._unsettled: dict[bytes, deque[Portion]] = {}  # by master
        self._unsettled_bytes = 0
        self._trusted: dict[
            bytes, tuple[int, int]
        ] = {}  # master -> (messages given up unsettled, up to here)
        self._sent = self._used = 0
        self._progress = 0.0

    def asked(self, query: Query, position: int, since: dict[bytes, int]) -> None:
        """A peer wants it from these places on: in our log, and in those of other masters."""
        self.queries[query] = position
        self.since[query] = since
        for master, place in since.items():
            self.asked_until[master] = max(place, self.asked_until.get(master, 0))

    def offer(self, portion: Portion, now: float) -> None:
        """Sent now, or waiting here, or dropped."""
        self._offered += 1
        portion.number = self._offered
        if self.closed:
            self._release(portion.parcel)
        elif self.connected and not self._backlog and self._has_credit():
            if not self._flight:
                self._progress = now  # it had nothing to take until now
            self._depart(portion)
        elif not self._keeps and self._backlog_bytes >= self._room(portion, now):
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

    def settled(self, master: bytes, position: int) -> bool:
        """A peer is done with everything up to `position` of a master's log. Did our own position change?"""
        before = self.position
        unsettled = self._unsettled.get(master)
        while unsettled and unsettled[0].parcel.position <= position:
            self._settle(self._next_unsettled(master).parcel)
        if position >= self._trusted.get(master, (0, 0))[1]:
            self._trusted.pop(master, None)
        return self.position != before

    def restart(self) -> None:
        """The other end forgot what was under way: persistent items go out again, the others are lost."""
        again = [portion for unsettled in self._unsettled.values() for portion in unsettled]
        trusted = sum(messages for messages, _ in self._trusted.values())
        self.delivered -= sum(portion.messages for portion in again) + trusted
        self._miss(trusted)
        for portion in self._flight:
            if portion.parcel.position or self._keeps:
                again.append(portion)
            else:
                self._drop(portion)
        self._flight.clear()
        self._unsettled.clear()
        self._trusted.clear()
        self._flight_bytes = self._unsettled_bytes = self._sent = self._used = 0
        # What waited may have been offered before what the other end had, and forgot.
        self._backlog = deque(sorted((*again, *self._backlog), key=lambda portion: portion.number))
        self._backlog_bytes += sum(portion.size for portion in again)
        for portion in again:
            portion.waiting = True

    def skip(self, master: bytes, position: int) -> None:
        """The subscriber says that it has that log up to here already (it settles it later)."""
        kept: deque[Portion] = deque()
        for portion in self._backlog:
            if portion.parcel.master == master and 0 < portion.parcel.position <= position:
                self._backlog_bytes -= portion.size
                portion.waiting = False
                self.delivered += portion.messages
                self._keep(portion)
            else:
                kept.append(portion)
        self._backlog = kept

    def take_all(self) -> list[Portion]:
        """What waits, which is somebody else's from now on."""
        portions, self._backlog = list(self._backlog), deque()
        self._backlog_bytes = 0
        return portions

    def take_void(self, is_void: Callable[[Envelope], bool]) -> list[Portion]:
        """Give up what waits and is void; returns it."""
        void = [portion for portion in self._backlog if is_void(portion.parcel.envelope)]
        for portion in void:
            self._backlog.remove(portion)
            self._backlog_bytes -= portion.size
            portion.waiting = False
            self._release(portion.parcel)  # not settled: what waits before it is still to come
        return void

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
        unsettled = [portion for portions in self._unsettled.values() for portion in portions]
        for portion in (*self._flight, *self._backlog, *unsettled):
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
        return bool(self._flight or self._backlog or any(self._unsettled.values()))

    @property
    def waiting_bytes(self) -> int:
        """Bytes under way or waiting."""
        return self._flight_bytes + self._backlog_bytes

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
        master = portion.parcel.master
        self._unsettled.setdefault(master, deque()).append(portion)
        self._unsettled_bytes += portion.size
        while self._unsettled_bytes > self._credit.backlog:
            oldest = self._next_unsettled(next(iter(self._unsettled)))
            messages, _ = self._trusted.get(oldest.parcel.master, (0, 0))
            self._trusted[oldest.parcel.master] = (messages + oldest.messages, oldest.parcel.position)
            self._settle(oldest.parcel)

    def _next_unsettled(self, master: bytes) -> Portion:
        portion = self._unsettled[master].popleft()
        if not self._unsettled[master]:
            del self._unsettled[master]
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
            is_thinner = parcel.shares is not None and parcel.shares.settle(self)
            if is_thinner or not parcel.owed:
                self._released(parcel)
