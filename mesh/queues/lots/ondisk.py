"""What of a queue waits on the disk alone, and what of that is to be read next?"""

# Law 1: what comes while there is any of its priority here, or while some is being read, goes here too.
# Law 2: what is here stands in the order of its positions, which is that of its stamps. What is in memory and
#        stands behind some of it has been taken out for a selector, and is given to nobody else before that.

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from mesh.queues.lots.lot import Lot
from mesh.queues.lots.paged import PagedLots
from mesh.routing.parcel import Parcel
from mesh.wire.expiry import all_void

S = 10**9  # ns
LOTS, LOT_BYTES = 1024, 4 << 20  # that are read at once, at most
VOID = -1  # stands for no priority: what is read because its time is over

Wish = tuple[int, tuple[int, ...]]  # a priority, and the positions of what is to be read


class OnDisk:
    """By priority."""

    def __init__(self) -> None:
        self.rows: dict[int, bytes] = {}  # by position: what has become of it, of what anything has
        self._paged: dict[int, PagedLots] = {}
        self._loading: dict[int, bool] = {}  # is it wanted still?
        self._loading_from: dict[int, int] = {}  # the stamp of the first
        self._purged: list[PagedLots] = []
        self._discarded: list[int] = []  # positions of single ones that nobody wants any more

    def has(self, priority: int) -> bool:
        """Does anything of it wait here?"""
        return bool(self._paged.get(priority)) or priority in self._loading

    def __bool__(self) -> bool:
        return bool(self._paged)

    def __iter__(self) -> Iterator[int]:
        """The priorities of what is here."""
        return iter({*self._paged, *self._loading} - {VOID})

    def first(self, priority: int, after: int = 0) -> float:
        """When the first was accepted that stands behind this position; of what is being read, wherever it
        stands. inf: there is none.
        """
        if priority in self._loading:
            return self._loading_from[priority]
        paged = self._paged.get(priority)
        if not paged:
            return inf
        return next((sent for _, sent in paged.after(after)), inf) if after else paged.oldest

    def after(self, priority: int, position: int) -> Iterator[tuple[int, int, int]]:
        """(position, messages, bytes) of those that stand behind this one."""
        paged = self._paged.get(priority)
        return (row for row, _ in paged.after(position)) if paged else iter(())

    @property
    def oldest(self) -> int:
        """When the first was accepted; 0: there is none."""
        return min((paged.oldest for paged in self._paged.values() if paged), default=0)

    def last(self, priority: int, n: int) -> int:
        """When the one that stands n places behind the first of a priority was accepted, or the last one."""
        return self._paged[priority].last(n) if priority in self._paged else 0

    def add(self, lot: Lot, expiry: float | None, *, is_back: bool = False) -> None:
        """It waits here from now on. `expiry`: s, what its queue says. `is_back`: at its place."""
        self.add_parcel(lot.parcel, lot.priority, lot.left, expiry, is_back=is_back)
        if row := lot.row():
            self.rows[lot.parcel.position] = row

    def add_parcel(
        self, parcel: Parcel, priority: int, left: int, expiry: float | None, *, is_back: bool = False
    ) -> None:
        """The same; so many messages of it are `left`."""
        e = parcel.envelope
        limit = e.sent + int(expiry * S) if expiry is not None else 0
        paged = self._paged.get(priority)
        if paged is None:
            paged = self._paged[priority] = PagedLots()
        put = paged.put_back if is_back else paged.add
        put(parcel.position, e.sent, left, parcel.size, all_void(e, limit) if limit or e.expires else 0)

    def take_out(self, priority: int, position: int) -> bool:
        """That one is in memory from now on; was it here?"""
        return priority in self._paged and self._paged[priority].take_out(position)

    def to_load(self, priority: int) -> Wish | None:
        """The next ones of a priority, unless some are being read."""
        paged = self._paged.get(priority)
        if not paged or priority in self._loading:
            return None
        self._loading[priority] = True
        self._loading_from[priority] = paged.oldest
        return priority, paged.take(LOTS, LOT_BYTES)

    def void_to_load(self, wall: int) -> Wish | None:
        """What is wholly void by now, to be buried. If some of it were not, that would be given out before
        what came before it.
        """
        void: list[int] = []
        for paged in self._paged.values() if VOID not in self._loading else ():
            if len(void) < LOTS:
                void += paged.take_void(wall, LOTS)
        if not void:
            return None
        self._loading[VOID] = True
        return VOID, tuple(void)

    def loaded(self, priority: int) -> bool:
        """That was read; is it wanted still?"""
        if not self._paged.get(priority):
            self._paged.pop(priority, None)
        return self._loading.pop(priority)

    def purge(self) -> tuple[int, int]:
        """Nothing here is wanted any more: so many messages and bytes."""
        paged, self._paged = list(self._paged.values()), {}
        self._purged += paged
        self._loading = dict.fromkeys(self._loading, False)
        return sum(each.messages for each in paged), sum(each.bytes for each in paged)

    def discard_first(self, priority: int) -> tuple[int, int]:
        """The first of a priority is not wanted any more: so many messages and bytes; none while some of that
        priority are being read.
        """
        paged = self._paged.get(priority)
        if not paged or priority in self._loading:
            return 0, 0
        messages, size = paged.messages, paged.bytes
        self._discarded += paged.take(1, 1)
        if not paged:
            del self._paged[priority]
        return messages - paged.messages, size - paged.bytes

    def take_purged(self, most: int) -> tuple[int, ...]:
        """Positions of what is not wanted any more, about so many at most: they are to leave the disk."""
        places, self._discarded = tuple(self._discarded), []
        while self._purged and len(places) < most:
            places += self._purged[-1].take(most - len(places), 1 << 62)
            if not self._purged[-1]:
                self._purged.pop()
        return places
