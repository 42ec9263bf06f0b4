"""What one subscriber is owed, in order, within its credit.

A feed is a client's subscription, an inbox, or everything one peer wants from this node. What its credit
allows goes out at once. The rest waits in a backlog: transient messages as its policy says, persistent
ones up to a bound. What finds no room is dropped whole, and the gap is told; what is void is not sent.

Law: matched = delivered + dropped + expired + buried + pending, in messages, at every moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.errors import RemoteError
from mesh.routing.interest import weight
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion, Portions
from mesh.routing.unsettled import Unsettled
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope

PROGRESS = 0.5  # s: a subscriber that took something this recently is slow, not stopped
# s that a peer is waited for, which says that it is behind, and takes nothing. Peers that are ways for each
# other could otherwise wait in a circle for ever.
PATIENCE = 10.0


class Feed:
    """`send` is called with what may go out now, `released` with each parcel nobody here needs any more, or
    (when it is still owed) of which fewer messages may be needed."""

    def __init__(
        self,
        key: bytes,
        credit: Credit,
        send: Callable[[Feed, Portion], None],
        released: Callable[[Parcel], None],
        peer: bool = False,
        keeps: bool = False,
        overflow: Overflow = Overflow.BLOCK,
        wall: Callable[[], int] = lambda: 0,
    ) -> None:
        self.key = key  # name of its record in the store
        self.credit = credit
        self.overflow = overflow
        self.owner = ""  # of a peer: its name
        self.queries: dict[Query, int] = {}  # query -> log position from which it counts
        self.wanted_bytes = 0  # of a peer: what these take, by `weight`
        self.since: dict[Query, dict[bytes, int]] = {}  # of a peer: likewise in the logs of other masters
        self.asked_until: dict[bytes, int] = {}  # master -> the highest of these
        self.floors: dict[bytes, int] = {}  # another master -> where its log was at first
        self.position = 0  # highest position of our log that is settled here
        self.connected = False
        self.gone_since = 0.0
        self.closed = False
        self.matched = self.delivered = self.dropped = self.expired = self.buried = 0  # messages
        self.coming = 0  # bytes that were accepted for it, and are still on their way to the disk
        self.gap = 0  # messages that were dropped behind all that it has: told with what comes next
        self.overran: Callable[[Feed], None] = lambda feed: None  # something was dropped for want of room
        # Of an inbox: these messages of it were void when their turn came.
        self.bury: Callable[[Portion, Sequence[int]], None] = lambda portion, void: None
        self._wall = wall  # ns since 1970, by which messages are void
        self._send = send
        self._released = released
        self.is_peer = peer  # a peer passes on: taking an item does not settle it
        self._keeps = keeps  # an inbox drops nothing: whoever fills it asks for room first
        self._offered = 0
        self._backlog = Portions()
        self._flight = Portions()
        self._unsettled = Unsettled(credit.backlog)
        self._sent = self._used = 0
        self._progress = 0.0
        self._said = 0.0  # when it told us last how far it is, and need not have gone on
        self._is_overrun = False  # it has dropped something since its last progress

    def asked(self, query: Query, position: int, since: dict[bytes, int]) -> None:
        """A peer wants it from these places on: in our log, and in those of other masters."""
        if query not in self.queries:
            self.wanted_bytes += weight(query)
        self.queries[query] = position
        self.since[query] = since
        for master, place in since.items():
            self.asked_until[master] = max(place, self.asked_until.get(master, 0))

    def unasked(self, query: Query) -> None:
        """It wants that no more."""
        del self.queries[query]
        self.wanted_bytes -= weight(query)
        self.since.pop(query, None)

    # --- in and out -------------------------------------------------------------------------------------

    def offer(self, portion: Portion, now: float) -> None:
        """Sent now, or waiting here, or dropped."""
        self._offered += 1
        portion.number = self._offered
        if self.closed:
            self._release(portion.parcel)
            return
        self.matched += portion.messages
        portion.gap, self.gap = self.gap, 0
        if self.connected and not self._backlog and self._has_credit():
            if not self._flight:
                self._progress = now  # it had nothing to take until now
            self._depart(portion)
        elif self._keeps or self._has_room(portion, now) or self._makes_room(portion, now):
            self._wait(portion)
        else:
            self._overrun(portion)

    def taken(self, total: int, now: float) -> None:
        """The subscriber has used up `total` items so far; what that allows goes out.

        A peer says it again and again while readers there are behind: it goes on, and our turn is to come.
        """
        self._said = now
        if total > self._sent:
            raise RemoteError(f"{total} items taken, only {self._sent} were sent", code="FORGED_ACK")
        while self._used < total:
            self._used += 1
            portion = self._flight.pop()
            self.delivered += portion.messages
            if self.is_peer and portion.is_persistent:
                self._keep(portion)
            else:
                self._settle(portion.parcel)
            self._progress, self._is_overrun = now, False
        self.pump()

    def connect(self, now: float) -> None:
        """Its connection is here: what waits may go out."""
        self.connected = True
        self._progress, self._is_overrun = now, False
        self.pump()

    def pump(self) -> None:
        """Send what waits, as far as the credit reaches."""
        while self.connected and self._backlog and self._has_credit():
            self._depart(self._backlog.pop())

    def settled(self, master: bytes, position: int) -> bool:
        """A peer is done with everything up to `position` of a master's log. Did our own position change?"""
        before = self.position
        for portion in self._unsettled.settle(master, position):
            self._settle(portion.parcel)
        return self.position != before

    def restart(self) -> None:
        """The other end forgot what was under way: persistent items go out again, the others are lost."""
        gap, again = self._unsettled.trusted, self._unsettled.take_all()
        self.delivered -= sum(portion.messages for portion in again) + gap
        self.dropped += gap
        flight, waiting = self._flight.take_all(), self._backlog.take_all()
        lost = [p for p in flight if not (p.is_persistent or self._keeps)]
        self._sent = self._used = 0
        # What waited may have been offered before what the other end had, and forgot.
        for portion in sorted((*again, *flight, *waiting), key=lambda portion: portion.number):
            if portion in lost:
                gap += self._drop(portion)
            else:
                portion.gap, gap = portion.gap + gap, 0
                self._wait(portion)
        self.gap += gap

    def skip(self, master: bytes, position: int) -> None:
        """The subscriber says that it has that log up to here already (it settles it later)."""
        for portion in self._backlog.take_all():
            if portion.parcel.master == master and 0 < portion.parcel.position <= position:
                portion.waiting = False
                self.delivered += portion.messages
                self.gap += portion.take_gap()
                self._keep(portion)
            else:
                self._backlog.append(portion)

    def leave(self, now: float) -> None:
        """Its connection is gone."""
        self.connected = False
        self.gone_since = now

    # --- giving up --------------------------------------------------------------------------------------

    def take_all(self) -> list[Portion]:
        """What waits, which is somebody else's from now on."""
        self.matched -= self._backlog.messages
        return self._backlog.take_all()

    def take_void(self, is_void: Callable[[Envelope], bool]) -> list[Portion]:
        """Give up what waits and is void, to be buried; returns it."""
        void = [portion for portion in self._backlog if is_void(portion.parcel.envelope)]
        for portion in void:
            self._backlog.remove(portion).waiting = False
            self.buried += portion.messages
            self._release(portion.parcel)  # not settled: what waits before it is still to come
        return void

    def shed(self) -> None:
        """It is cut off: of what waits only what is persistent waits on, and all of an inbox."""
        if self._keeps:
            return
        gap = 0
        for portion in self._backlog.take_all():
            if portion.is_persistent:
                portion.gap, gap = portion.gap + gap, 0
                self._backlog.append(portion)
            else:
                gap += self._drop(portion)
        self.gap += gap

    def close(self) -> None:
        """Nobody wants it any more."""
        self.closed = True
        self.clear()

    def clear(self) -> None:
        """Give up all it was owed."""
        self.dropped += self.pending
        for portion in (*self._flight.take_all(), *self._backlog.take_all(), *self._unsettled.take_all()):
            portion.waiting = False
            self._release(portion.parcel)

    # --- how it stands ----------------------------------------------------------------------------------

    @property
    def paces(self) -> bool:
        """Do publishers wait for it, as long as it is alive?"""
        return self.overflow is Overflow.BLOCK

    def alive(self, now: float) -> bool:
        """Does it make progress? Then publishers do well to wait for it a little."""
        return self.connected and now - self._sign_of_life(now) < PROGRESS

    @property
    def stands_since(self) -> float | None:
        """Since when has it taken nothing, though messages are dropped for it? None: it goes on."""
        return self._progress if self.connected and self._is_overrun else None

    @property
    def line(self) -> int:
        """Items that have left since the last restart, and those that wait to leave."""
        return self._sent + len(self._backlog)

    @property
    def is_owed(self) -> bool:
        """Is anything under way, waiting or unsettled?"""
        return bool(self._flight or self._backlog or self._unsettled)

    @property
    def waiting_bytes(self) -> int:
        """Bytes under way or waiting."""
        return self._flight.bytes + self._backlog.bytes

    @property
    def accepted_bytes(self) -> int:
        """These, and those that will join them when they are on disk."""
        return self.waiting_bytes + self.coming

    @property
    def pending(self) -> int:
        """Messages under way or waiting."""
        return self._flight.messages + self._backlog.messages

    # --- within -----------------------------------------------------------------------------------------

    def _has_credit(self) -> bool:
        credit, flight = self.credit, self._flight
        is_few = not credit.messages or flight.messages < credit.messages
        return flight.bytes < credit.bytes and len(flight) < credit.items and is_few

    def _sign_of_life(self, now: float) -> float:
        """When did it show last that it goes on?"""
        progress, said = self._progress, self._said
        return said if said > progress and now - progress < PATIENCE else progress

    def _has_room(self, portion: Portion, now: float) -> bool:
        credit, backlog = self.credit, self._backlog
        if portion.is_persistent:
            return backlog.bytes < credit.backlog
        if credit.messages and backlog.messages + portion.messages > credit.messages and backlog.messages:
            return False
        # Longer than publishers wait for it: dropping is worse than waiting.
        is_slow = self.paces and self.connected and now - self._sign_of_life(now) < 4 * PROGRESS
        return backlog.bytes < (credit.backlog if is_slow else credit.bytes)

    def _makes_room(self, portion: Portion, now: float) -> bool:
        """Drop what has waited longest, as much as is needed."""
        if self.overflow is not Overflow.DROP_OLDEST or portion.is_persistent:
            return False
        while (oldest := next((p for p in self._backlog if not p.is_persistent), None)) is not None:
            self._overrun(self._backlog.remove(oldest), portion)
            if self._has_room(portion, now):
                return True
        return False

    def _overrun(self, portion: Portion, newest: Portion | None = None) -> None:
        """There is no room for it. The gap is told with what follows: the newest, or what is to come."""
        gap = self._drop(portion)
        heir = newest
        if portion.number < self._offered:  # else nothing that waits came later: not worth a look at all
            heir = next((p for p in self._backlog if p.number > portion.number), newest)
        if heir is not None:
            heir.gap += gap
        else:
            self.gap += gap
        self._is_overrun = True
        self.overran(self)

    def _wait(self, portion: Portion) -> None:
        portion.waiting = True
        self._backlog.append(portion)

    def _depart(self, portion: Portion) -> None:
        portion.waiting = False
        void = portion.trim(self._wall())
        if portion.messages:
            self._flight.append(portion)
            self._sent += 1
            self._send(self, portion)
        else:
            self._leave_gap(portion.take_gap())
            self._release(portion.parcel)
        if void:
            self._leave_out(portion, void)

    def _leave_out(self, portion: Portion, void: Sequence[int]) -> None:
        """Of a portion that has just left, or of which nothing was left."""
        if self._keeps:
            self.buried += len(void)
            self.bury(portion, void)
        else:
            self.expired += len(void)

    def _keep(self, portion: Portion) -> None:
        for oldest in self._unsettled.keep(portion):
            self._settle(oldest.parcel)

    def _settle(self, parcel: Parcel) -> None:
        if parcel.own:
            self.position = max(self.position, parcel.position)
        self._release(parcel)

    def _leave_gap(self, gap: int) -> None:
        """The first that waits will tell of it."""
        if self._backlog:
            self._backlog.first.gap += gap
        else:
            self.gap += gap

    def _drop(self, portion: Portion) -> int:
        """Returns the gap that it leaves, with the one before it."""
        self.dropped += portion.messages
        portion.waiting = False
        self._release(portion.parcel)
        return portion.messages + portion.take_gap()

    def _release(self, parcel: Parcel) -> None:
        if parcel.position:
            parcel.owed -= 1
            is_thinner = parcel.shares is not None and parcel.shares.settle(self)
            if is_thinner or not parcel.owed:
                self._released(parcel)
