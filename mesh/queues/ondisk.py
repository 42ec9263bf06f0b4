"""What of a queue waits on the disk alone, and what of that is to be read next?"""

# Law: of one priority all that is here comes behind all that is in memory. So what comes while there is any,
#      or while some is being read, goes here too.

from __future__ import annotations

from collections.abc import Iterator

from mesh.queues.lot import Lot
from mesh.queues.paged import Paged
from mesh.wire.expiry import all_void

S = 10**9  # ns
LOTS, LOT_BYTES = 1024, 4 << 20  # that are read at once, at most
VOID = -1  # stands for no priority: what is read because its time is over

Wish = tuple[int, tuple[int, ...]]  # a priority, and the positions of what is to be read


class OnDisk:
    """By priority."""

    def __init__(self) -> None:
        self._paged: dict[int, Paged] = {}
        self._loading: dict[int, bool] = {}  # is it wanted still?
        self._purged: list[Paged] = []

    def has(self, priority: int) -> bool:
        """Does anything of it wait here?"""
        return bool(self._paged.get(priority)) or priority in self._loading

    def __iter__(self) -> Iterator[int]:
        """The priorities of what is here."""
        return iter({*self._paged, *self._loading} - {VOID})

    @property
    def oldest(self) -> int:
        """When the first was accepted; 0: there is none."""
        return min((paged.oldest for paged in self._paged.values() if paged), default=0)

    def last(self, priority: int, n: int) -> int:
        """When the one that stands n places behind the first of a priority was accepted, or the last one."""
        return self._paged[priority].last(n) if priority in self._paged else 0

    def add(self, lot: Lot, expiry: float | None) -> None:
        """It waits here from now on; nothing has become of it yet. `expiry`: s, what its queue says."""
        limit = lot.envelope.sent + int(expiry * S) if expiry is not None else 0
        paged = self._paged.setdefault(lot.priority, Paged())
        paged.add(lot.parcel.position, lot.key[0], lot.left, lot.size, all_void(lot.envelope, limit))

    def to_load(self, priority: int) -> Wish | None:
        """The next ones of a priority, unless some are being read."""
        paged = self._paged.get(priority)
        if not paged or priority in self._loading:
            return None
        self._loading[priority] = True
        return priority, paged.take(LOTS, LOT_BYTES)

    def void_to_load(self, wall: int) -> Wish | None:
        """What is wholly void by now, to be buried. If some of it were not, that would be given out before
        what came before it."""
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

    def take_purged(self, most: int) -> tuple[int, ...]:
        """Positions of what is not wanted any more, so many at most: they are to leave the disk."""
        places: tuple[int, ...] = ()
        while self._purged and len(places) < most:
            places += self._purged[-1].take(most - len(places), 1 << 62)
            if not self._purged[-1]:
                self._purged.pop()
        return places
