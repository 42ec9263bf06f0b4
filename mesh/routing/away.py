"""What of a backlog waits on the disk alone, or is being read, or waits in memory behind that?"""

# Law: what is being read comes before all that is still on the disk alone. Whatever is in memory has its
#      place among these by its number.

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from math import inf

from mesh.routing.paged import EntryRow, Paged
from mesh.routing.paging import Paging
from mesh.routing.parcel import absent, nameless
from mesh.routing.portion import Portion
from mesh.routing.shares import Indices
from mesh.wire.envelope import Envelope


class Away:
    """Of one backlog, behind what is ready there. Nothing is left here when nothing is on the disk."""

    def __init__(self, paging: Paging) -> None:
        self.coming: list[Portion] = []  # being read,
        self.void: list[Portion] = []  # also, since their time is over
        self.behind: deque[Portion] = deque()  # in memory: transient, or awaited by its publisher
        self.bytes = 0  # of all that
        self._paging = paging
        self._paged = Paged()  # by number; with what a row there cannot say:
        self._parts: dict[int, tuple[Indices, int, Envelope]] = {}  # which messages of what size, of which,
        self._gaps: dict[int, int] = {}  # and the gap before it

    def __len__(self) -> int:
        return len(self._paged) + len(self.coming) + len(self.void) + len(self.behind)

    @property
    def has_next(self) -> bool:
        """May there be something to read, or something that waits for no more than a look?"""
        return bool(self._paged or self.behind)

    @property
    def gap(self) -> int:
        """The gaps before what is not in memory."""
        return sum(self._gaps.values()) + sum(portion.gap for portion in (*self.coming, *self.void))

    def page(self, portion: Portion, size: int, messages: int, void_at: int) -> None:
        """It waits on the disk alone from now on. `void_at`: by when all of it is void; 0 = nobody asks."""
        parcel, number = portion.parcel, portion.number
        if portion.gap:
            self._gaps[number] = portion.take_gap()
        if portion.indices is not None:
            self._parts[number] = portion.indices, parcel.size, absent(parcel.envelope, void_at)
        self._paged.add(parcel.position, number, messages, size, void_at)
        self.bytes += size
        self._paging.put(parcel)

    def keep(self, portion: Portion) -> None:
        """It waits in memory, behind all this."""
        self.behind.append(portion)
        self.bytes += portion.size

    def remove(self, portion: Portion) -> bool:
        """That, if it waits in memory here."""
        if portion not in self.behind:
            return False
        self.behind.remove(portion)
        self.bytes -= portion.size
        return True

    def lose(self, gone: Collection[Portion]) -> None:
        """Those of these that wait in memory here wait no more."""
        lost = [portion for portion in self.behind if portion in gone]
        if lost:
            self.behind = deque(portion for portion in self.behind if portion not in gone)
            self.bytes -= sum(portion.size for portion in lost)

    def next(self, size: int, most: int) -> list[Portion]:
        """The next ones, of so many bytes at most, but one: they are being read from now on."""
        while self._paged and size > 0 and len(self.coming) < most:
            self.coming.append(self._portion(self._paged.pop()))
            size -= self.coming[-1].size
        return self.coming

    def came(self) -> list[Portion]:
        """What was read, and what has its place before the next ones: that is here no more."""
        ready, self.coming = self.coming, []
        while self.behind and self.behind[0].number < (self._paged.first or inf):
            ready.append(self.behind.popleft())
        self.bytes -= sum(portion.size for portion in ready)
        return ready

    def next_void(self, wall: int, most: int, size: float) -> list[Portion]:
        """Those that are void by now, so many and some more, or of so many bytes: they are being read."""
        self.void = [self._portion(row) for row in self._paged.take_void(wall, most, size)]
        return self.void

    def void_came(self) -> list[Portion]:
        """They were read, and are here no more."""
        void, self.void = self.void, []
        self.bytes -= sum(portion.size for portion in void)
        return void

    def take_all(self) -> list[Portion]:
        """All of it, in order; of what was on the disk the parcels lack their envelopes."""
        portions = [*self.coming, *self.void, *self.behind]
        while self._paged:
            portions.append(self._portion(self._paged.pop()))
        return sorted(portions, key=_number)

    def leave_gap(self, gap: int, number: int) -> bool:
        """The first behind that number tells of it; False: there is none."""
        others = (p for row in (self.coming, self.behind, self.void) for p in row if p.number > number)
        first, paged = min(others, key=_number, default=None), self._paged.first_behind(number)
        if paged and (first is None or paged < first.number):
            self._gaps[paged] = self._gaps.get(paged, 0) + gap
        elif first is not None:
            first.gap += gap
        return bool(paged or first)

    def _portion(self, row: EntryRow) -> Portion:
        position, count, size, number, void_at = row
        indices, stub = None, nameless(count, void_at)
        if number in self._parts:
            indices, size, stub = self._parts.pop(number)
        parcel = self._paging.take(position, size, stub)
        return Portion(parcel, indices, waiting=True, number=number, gap=self._gaps.pop(number, 0))


def _number(portion: Portion) -> int:
    return portion.number
