"""What one subscriber is owed, in order, within its credit.

A feed is a client's subscription, an inbox, or everything one peer wants from this node. What its credit
allows goes out at once. The rest waits in a backlog: transient messages as its policy says, persistent
ones up to a bound. What finds no room is dropped whole, and the gap is told; what is void is not sent.

Law: matched = delivered + dropped + expired + buried + pending, in messages, at every moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf

from mesh.errors import RemoteError
from mesh.routing.backlog import Backlog
from mesh.routing.flight import Flight
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.paging import Paging
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.routing.querytrie import wants
from mesh.wire.commands import Query
from mesh.wire.envelope import PROVISIONAL, Envelope

Lost = Callable[[Envelope, str, int], None]  # messages of it that the subscriber does not get, why, how many

PROGRESS = 0.5  # s: a subscriber that took something this recently is slow, not stopped
# s that a peer is waited for, which says that it is behind, and takes nothing. Peers that are ways for each
# other could otherwise wait in a circle for ever.
PATIENCE = 10.0


class Feed:
    """That of a client's subscription; the other kinds are made of it.

    `send` is called with what may go out now, `released` with each parcel nobody here needs any more, or
    (when it is still owed) of which fewer messages may be needed, `overran` when something was dropped for
    want of room, `ends_in_gap` when it has a gap to tell of, and nothing else. `wall` gives the ns since
    1970, by which messages are void. `paging`: where what waits may wait on the disk alone. `lost` counts
    what is dropped, or left out as it is void, with one of the reasons of `mesh.reasons.texts`.
    """

    is_peer = False
    since: Mapping[Query, Mapping[bytes, int]] = {}  # of a peer

    def __init__(
        self,
        key: bytes,
        credit: Credit,
        send: Callable[[Feed, Portion], None],
        released: Callable[[Parcel], None],
        overflow: Overflow = Overflow.BLOCK,
        wall: Callable[[], int] = lambda: 0,
        overran: Callable[[Feed], None] = lambda feed: None,
        paging: Paging | None = None,
        lost: Lost = lambda envelope, why, n: None,
        ends_in_gap: Callable[[Feed], None] = lambda feed: None,
    ) -> None:
        self.key = key  # name of its record in the store
        self.credit = credit
        self.overflow = overflow
        self.paces = overflow is Overflow.BLOCK  # do publishers wait for it, as long as it is alive?
        self.owner = ""  # of a peer: its name
        self.queries: dict[Query, int] = {}  # query -> log position from which it counts
        self.floors: dict[bytes, int] = {}  # another master -> where its log was at first
        self.position = 0  # highest position of our log that is settled here
        self.connected = False
        self.gone_since = 0.0
        self.closed = False
        self.matched = self.delivered = self.dropped = self.expired = self.buried = 0  # messages
        self.coming = 0  # bytes that were accepted for it, and are still on their way to the disk
        self.gap = 0  # messages that were dropped behind all that it has: told with what comes next
        self._wall = wall
        self._send = send
        self._released = released
        self._overran = overran
        self._lost = lost
        self._ends_in_gap = ends_in_gap
        self._offered = 0
        self._backlog = Backlog(credit, overflow, paging)
        self._flight = Flight(credit)
        self._progress = 0.0
        self._said = 0.0  # when it told us last how far it is, and need not have gone on
        self._is_overrun = False  # it has dropped something since its last progress

    # --- what it wants ----------------------------------------------------------------------------------

    def asked(self, query: Query, position: int, since: dict[bytes, int]) -> None:
        """A query that counts from these places on: in our log, and in those of other masters."""
        self.queries[query] = position

    def comes(self, parcel: Parcel, sign: int) -> None:
        """That was accepted for it, and is on its way to the disk; -1: it is so no more."""
        self.coming += sign * parcel.size

    def owed_from(self, key: str, domain: str, xml: str = "") -> float:
        """The first place in our log of which it was promised such a message, and has not settled it."""
        asked = (since for query, since in self.queries.items() if wants(query, key, domain, xml))
        return max(self.position + 1, min(asked, default=inf))

    # --- in and out -------------------------------------------------------------------------------------

    def offer(self, portion: Portion, now: float) -> None:
        """Sent now, or waiting here, or dropped."""
        portion.number = self._offered = self._offered + 1
        if self.closed:
            self._release(portion.parcel)
            return
        self.matched += portion.messages
        portion.gap, self.gap = self.gap, 0
        if self.connected and not self._backlog and self._flight.has_room:
            if not self._flight:
                self._progress = now  # it had nothing to take until now
            self._depart(portion)
        elif self._finds_room(portion, now):
            self._backlog.append(portion, is_awaited=self.paces and self.alive(now))
        else:
            self._overrun(portion)

    def offer_now(self, portion: Portion, now: float) -> bool:
        """Sent now, or not at all: is it? Only for what comes again."""
        if self.closed or not self.connected or self._backlog or not self._flight.has_room:
            return False
        self.offer(portion, now)
        return True

    def taken(self, total: int, now: float) -> None:
        """The subscriber has used up `total` items so far; what that allows goes out.

        A peer says it again and again while readers there are behind: it goes on, and our turn is to come.
        """
        self._said = now
        flight = self._flight
        if total > flight.sent:
            raise RemoteError(f"{total} items taken, only {flight.sent} were sent", code="FORGED_ACK")
        while flight.used < total:
            flight.used += 1
            portion = flight.pop()
            self.delivered += portion.messages
            self._took(portion)
            self._progress, self._is_overrun = now, False
        self.pump()

    def connect(self, now: float) -> None:
        """Its connection is here: what waits may go out."""
        self.connected = True
        self._progress, self._is_overrun = now, False
        self.pump()

    def pump(self) -> None:
        """Send what waits, as far as the credit reaches."""
        if self.connected and self._backlog:
            while self._backlog.is_ready and self._flight.has_room:
                portion = self._backlog.pop()
                if portion.parcel.is_here:
                    self._depart(portion)
                else:  # the disk has lost it
                    self._leave_gap(self._drop(portion, "LOST"))
            self._backlog.fetch(self.pump)
        if self.gap:
            self.tell_gap()

    def missed(self, messages: int) -> None:
        """Others have dropped so many messages that were for it."""
        self.gap += messages
        self.tell_gap()

    def tell_gap(self) -> None:
        """Tell of a gap now, unless something is under way or waits, behind which it is to be told."""
        if self.gap and self.connected and not self.is_owed:
            self._ends_in_gap(self)

    def take_gap(self) -> int:
        """Messages dropped behind all that it has: told once."""
        gap, self.gap = self.gap, 0
        return gap

    def restart(self) -> None:
        """The other end forgot what was under way: persistent items go out again, the others are lost."""
        self._again(())

    def leave(self, now: float) -> None:
        """Its connection is gone."""
        self.connected = False
        self.gone_since = now

    # --- giving up --------------------------------------------------------------------------------------

    def shed(self, frees_memory: bool = False) -> None:
        """Cut it off: of what waits only what is persistent waits on, and all of an inbox. `frees_memory`:
        and only if it can wait on the disk of this node."""
        gap = 0
        for portion in self._backlog.take_all():
            if self._stays(portion) and (portion.parcel.own or not frees_memory):
                portion.gap, gap = portion.gap + gap, 0
                self._backlog.append(portion)
            else:
                gap += self._drop(portion, "CUT_OFF")
        self.gap += gap

    def close(self) -> None:
        """Drop all: nobody wants it any more."""
        self.closed = True
        self.clear()

    def clear(self) -> None:
        """Give up all it was owed."""
        self.dropped += self.pending
        for portion in self._take_everything():
            self._release(portion.parcel)

    # --- how it stands ----------------------------------------------------------------------------------

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
        return self._flight.sent + len(self._backlog)

    @property
    def is_owed(self) -> bool:
        """Is anything under way, waiting or unsettled?"""
        return bool(self._flight or self._backlog)

    @property
    def waiting_bytes(self) -> int:
        """Bytes under way or waiting."""
        return self._flight.bytes + self._backlog.bytes

    @property
    def under_way_bytes(self) -> int:
        """Bytes that were sent and not taken."""
        return self._flight.bytes

    def parcels(self) -> Iterator[Parcel]:
        """Parcels under way or waiting in memory, but for those that `Memory` counts."""
        yield from (portion.parcel for portion in self._flight)
        for portion in self._backlog:
            if not (portion.parcel.own and portion.is_persistent):
                yield portion.parcel

    @property
    def pending(self) -> int:
        """Messages under way or waiting."""
        return self._flight.messages + self._backlog.messages

    @property
    def items(self) -> int:
        """Portions under way or waiting, in memory."""
        return len(self._flight) + len(self._backlog)

    def holds(self, stream: bytes, domain: str, number: int) -> bool:
        """Is this message under way or waiting, as far as that is in memory?"""
        return any(portion.holds(stream, domain, number) for portion in chain(self._flight, self._backlog))

    # --- in what its kinds differ -----------------------------------------------------------------------

    def _took(self, portion: Portion) -> None:
        """The subscriber has it, and that settles it."""
        parcel = portion.parcel
        if parcel.own:
            self.position = max(self.position, parcel.position)
        self._release(parcel)

    def _stays(self, portion: Portion) -> bool:
        """Does it wait on when the subscriber is gone?"""
        return portion.is_persistent

    def _finds_room(self, portion: Portion, now: float) -> bool:
        """May it wait? Perhaps what has waited longer makes room."""
        if portion.is_persistent or portion.is_first:
            return self._backlog.has_place
        # Longer than publishers wait for it: dropping is worse than waiting.
        is_slow = self.paces and self.connected and now - self._sign_of_life(now) < 4 * PROGRESS
        while not self._backlog.has_room(portion, is_slow):
            oldest = self._backlog.giving_way_to(portion)
            if oldest is None:
                return False
            self._overrun(self._backlog.remove(oldest), portion)
        return True

    def _leave_out(self, portion: Portion, void: Sequence[int]) -> None:
        """Of a portion that has just left, or of which nothing was left."""
        self.expired += len(void)
        self._lost(portion.parcel.envelope, "EXPIRED", len(void))

    def _take_everything(self) -> list[Portion]:
        return [*self._flight.take_all(), *self._backlog.take_all()]

    # --- within -----------------------------------------------------------------------------------------

    def _again(self, taken: Sequence[Portion], gap: int = 0) -> None:
        """All waits anew, also what was `taken` in vain; a gap of so many messages is in front of it."""
        flight, waiting = self._flight.take_all(), self._backlog.take_all()
        lost = [portion for portion in flight if not self._stays(portion)]
        self._flight.sent = self._flight.used = 0
        # What waited may have been offered before what the other end had, and forgot.
        for portion in sorted((*taken, *flight, *waiting), key=lambda portion: portion.number):
            if portion in lost and portion.parcel.envelope.flags & PROVISIONAL:  # it comes from its master
                self.delivered += portion.messages
            elif portion in lost:
                gap += self._drop(portion, "LOST")
            else:
                portion.gap, gap = portion.gap + gap, 0
                self._backlog.append(portion)
        self.gap += gap

    def _sign_of_life(self, now: float) -> float:
        """When did it show last that it goes on?"""
        progress, said = self._progress, self._said
        return said if said > progress and now - progress < PATIENCE else progress

    def _overrun(self, portion: Portion, newest: Portion | None = None) -> None:
        """There is no room for it. The gap is told with what follows: the newest, or what is to come."""
        gap = self._drop(portion, "OVERRUN")
        is_old = portion.number < self._offered  # else nothing that waits came later: not worth a look at all
        if not (is_old and self._backlog.leave_gap(gap, portion.number)):
            heir: Feed | Portion = self if newest is None else newest
            heir.gap += gap
        self._is_overrun = True
        self._overran(self)

    def _depart(self, portion: Portion) -> None:
        void = portion.trim(self._wall())
        if portion.messages:
            self._flight.append(portion)
            self._flight.sent += 1
            self._send(self, portion)
        else:
            self._leave_gap(portion.take_gap())
            self._release(portion.parcel)
        if void:
            self._leave_out(portion, void)

    def _leave_gap(self, gap: int) -> None:
        """The first that waits will tell of it."""
        if gap and not self._backlog.leave_gap(gap):
            self.gap += gap

    def _drop(self, portion: Portion, why: str) -> int:
        """Returns the gap that it leaves, with the one before it."""
        self.dropped += portion.messages
        self._lost(portion.parcel.envelope, why, portion.messages)
        self._release(portion.parcel)
        return portion.messages + portion.take_gap()

    def _release(self, parcel: Parcel) -> None:
        if parcel.position:
            parcel.owed -= 1
            is_thinner = parcel.shares is not None and parcel.shares.settle(self)
            if is_thinner or not parcel.owed:
                self._released(parcel)
            if parcel.paged:
                parcel.give_away()
