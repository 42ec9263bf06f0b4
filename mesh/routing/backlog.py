"""Portions that wait for a subscriber's credit. Which may wait, which give way, which are in memory?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import inf

from mesh.routing.away import Away
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.paging import Paging
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion, Portions
from mesh.wire.envelope import Envelope

MOST = 1024  # envelopes that are read at once


class Backlog(Portions):
    """Portions that wait, and know that they do, within the bounds of a policy. Those in the row may leave;
    what is `away` comes behind them. Without `paging` all is in memory."""

    def __init__(self, credit: Credit, overflow: Overflow, paging: Paging | None = None) -> None:
        super().__init__()
        self.away: Away | None = None
        self._first = [0, 0]  # bytes and messages of first values that wait: they take no room from others
        self.void_at: Callable[[Envelope], int] = lambda envelope: 0  # by when all of it is void, if asked
        self._credit = credit
        self._oldest_go = overflow is Overflow.DROP_OLDEST
        self._paging = paging

    def __len__(self) -> int:
        return len(self._row) if self.away is None else len(self._row) + len(self.away)

    def __bool__(self) -> bool:
        return self.bytes > 0  # as each message counts some

    def __iter__(self) -> Iterator[Portion]:
        """Those in memory."""
        return iter(self._row) if self.away is None else chain(self._row, self.away.behind)

    @property
    def is_ready(self) -> bool:
        """May the first one leave?"""
        return bool(self._row)

    @property
    def gap(self) -> int:
        """Messages that were dropped before something that waits, and of which nobody was told."""
        return sum(portion.gap for portion in self) + (self.away.gap if self.away is not None else 0)

    def resize(self, credit: Credit) -> None:
        """These are the bounds from now on."""
        self._credit = credit

    def append(self, portion: Portion, is_awaited: bool = False) -> None:
        """It waits behind all others. `is_awaited`: so does its publisher, who sends little meanwhile."""
        parcel = portion.parcel
        size, messages = portion.size, portion.messages
        self.bytes += size
        self.messages += messages
        if portion.is_first:
            self._count_first(portion, +1)
        away, paging = self.away, self._paging if parcel.own and parcel.position else None
        if paging is not None:
            is_here = parcel.is_here
            # What comes behind something that is on the disk goes there, too.
            if not is_here or (not is_awaited and (away is not None or paging.is_full_for(parcel))):
                if away is None:
                    away = self.away = Away(paging)
                e = parcel.envelope
                away.page(portion, size, messages, self.void_at(e) if is_here else e.expires)
                return
            paging.count(parcel, +1)
        portion.waiting = True
        if away is None:
            self._row.append(portion)
        else:
            away.keep(portion)

    def pop(self) -> Portion:
        """Take out the first, which is ready."""
        return self._less(self._row.popleft())

    def remove(self, portion: Portion) -> Portion:
        """Take out this one, wherever it stands in memory."""
        if self.away is not None and self.away.remove(portion):
            return self._less(portion)
        return super().remove(portion)

    def take_void(self, is_void: Callable[[Portion], bool]) -> list[Portion]:
        """Take out what is void, wherever it stands in memory."""
        void = [portion for portion in self if portion.parcel.is_here and is_void(portion)]
        if void:
            gone = set(void)
            self._row = deque(portion for portion in self._row if portion not in gone)
            if self.away is not None:
                self.away.lose(gone)
        return [self._less(portion) for portion in void]

    def take_all(self) -> list[Portion]:
        """Take out all of them. Where one waited on the disk alone, its parcel lacks its envelope."""
        for portion in self:
            self._uncount(portion.parcel)
        portions = super().take_all()
        if self.away is not None:
            portions += self.away.take_all()
            self.away = None
        self._first = [0, 0]
        for portion in portions:
            portion.waiting = False
        return portions

    def fetch(self, then: Callable[[], None]) -> None:
        """Read the next ones, if less than a window is ready; `then` is called when something has come."""
        away, paging, credit = self.away, self._paging, self._credit
        if away is None or paging is None or away.coming or not away.has_next:
            return
        if self.bytes - away.bytes >= credit.bytes or len(self._row) >= credit.items:
            return
        coming = away.next(credit.bytes, min(credit.items, MOST))

        def came(here: list[Portion]) -> None:
            if self.away is away and away.coming is coming:  # else all was taken out, and put back perhaps
                self._count(coming)
                self._ready(away.came())
            then()

        paging.have(coming, came)

    def fetch_void(self, wall: int, then: Callable[[], None], size: float = inf) -> None:
        """Read some of what is void by now, of so many bytes at most, but one, wherever it stands; it is in
        memory when `then` is called."""
        away, paging = self.away, self._paging
        if away is None or paging is None or away.void:
            return
        void = away.next_void(wall, MOST, size)

        def came(here: list[Portion]) -> None:
            if self.away is away and away.void is void:
                self._count(void)
                self._ready(away.void_came())
            then()

        if void:
            paging.have(void, came)

    def _count(self, portions: Iterable[Portion]) -> None:
        """They wait in memory from now on."""
        for portion in portions:
            if (paging := self._paging_of(portion.parcel)) is not None:
                paging.count(portion.parcel, +1)

    def _ready(self, portions: list[Portion]) -> None:
        """These may leave, too, in their order."""
        self._row = deque(sorted((*self._row, *portions), key=lambda portion: portion.number))
        if not self.away:
            self.away = None

    def leave_gap(self, gap: int, number: int = 0) -> bool:
        """The first one that waits behind that number tells of it; False: there is none."""
        first = next((portion for portion in self._row if portion.number > number), None)
        if first is not None:
            first.gap += gap
        return first is not None or (self.away is not None and self.away.leave_gap(gap, number))

    @property
    def has_place(self) -> bool:
        """May one more wait that is persistent, or a first value?"""
        return self.bytes < self._credit.backlog

    def has_room(self, portion: Portion, is_slow: bool) -> bool:
        """May it wait, a transient one? `is_slow`: as long as persistent ones."""
        credit, (first_bytes, first_messages) = self._credit, self._first
        waiting = self.messages - first_messages
        if credit.messages and waiting + portion.messages > credit.messages and waiting:
            return False
        return self.bytes - first_bytes < (credit.backlog if is_slow else credit.bytes)

    def giving_way_to(self, portion: Portion) -> Portion | None:
        """The one that has waited longest, if it goes to make room for this one."""
        if not self._oldest_go or portion.is_persistent:
            return None
        return next((each for each in self if not (each.is_persistent or each.is_first)), None)

    # --- within -----------------------------------------------------------------------------------------

    def _paging_of(self, parcel: Parcel) -> Paging | None:
        """If it is on this node's disk, so that it need not be in memory."""
        return self._paging if parcel.own and parcel.position else None

    def _uncount(self, parcel: Parcel) -> None:
        paging = self._paging_of(parcel)
        if paging is not None:
            paging.count(parcel, -1)

    def _count_first(self, portion: Portion, sign: int) -> None:
        self._first[0] += sign * portion.size
        self._first[1] += sign * portion.messages

    def _less(self, portion: Portion) -> Portion:
        portion.waiting = False
        if portion.is_first:
            self._count_first(portion, -1)
        self._uncount(portion.parcel)
        return super()._less(portion)
