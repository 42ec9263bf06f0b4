"""What waits in a queue with one priority, in order."""

# Law: a lot stands where its stamp of acceptance says, whatever was done with it meanwhile.

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from mesh.queues.lots.lot import Lot, LotKey

SPARE = 1_000  # lots without anything ready that may stand in the line
FIRST: LotKey = (0, b"", 0)  # before all


class ReadyLots:
    """Lots with something that is ready, by their keys; some may have nothing ready any more."""

    __slots__ = ("_at", "_lots", "_spare", "priority")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self._lots: list[Lot] = []
        self._at = 0  # all before this place are gone
        self._spare = 0

    def __len__(self) -> int:
        return len(self._lots) - self._at

    def add(self, lot: Lot) -> None:
        """It has something that is ready; perhaps it stands here already."""
        lots = self._lots
        if not lots or lots[-1].key < lot.key:
            lots.append(lot)
            return
        at = bisect_left(lots, lot.key, lo=self._at, key=_key)
        while at < len(lots) and lots[at].key == lot.key:  # the same message may be here twice
            if lots[at] is lot:
                return
            at += 1
        if at == self._at and at > 0:
            self._at = at = at - 1
            lots[at] = lot
        else:
            lots.insert(at, lot)

    def first(self) -> Lot | None:
        """The first that has something ready."""
        lots = self._lots
        while self._at < len(lots):
            if lots[self._at].ready:
                return lots[self._at]
            self._at += 1
        lots.clear()
        self._at = self._spare = 0
        return None

    def after(self, key: LotKey) -> Iterator[Lot]:
        """Those with something ready that stand behind this key."""
        if self.first() is None:
            return
        lots = self._lots
        at = max(self._at, bisect_right(lots, key, lo=self._at, key=_key))
        while at < len(lots):
            if lots[at].ready:
                yield lots[at]
            at += 1

    def ahead(self, n: int) -> Lot | None:
        """The lot that stands n places behind the first, or the last one."""
        if self.first() is None:
            return None
        return self._lots[min(self._at + n, len(self._lots) - 1)]

    def before(self, stamp: float) -> int:
        """How many lots stand here that were accepted before then."""
        lots = self._lots
        if not lots or lots[-1].key[0] < stamp:
            return len(self)
        return bisect_left(lots, stamp, lo=self._at, key=lambda lot: lot.key[0]) - self._at

    def emptied(self) -> None:
        """A lot has nothing ready any more. So that they do not stay behind one that nobody takes."""
        self._spare += 1
        if self._spare > SPARE + len(self) // 2 or self._at > SPARE + len(self):
            self._lots = [lot for lot in self._lots[self._at :] if lot.ready]
            self._at = self._spare = 0


def _key(lot: Lot) -> LotKey:
    return lot.key
