"""The ready envelopes of one priority, in order."""

# Law: the place of an envelope follows from its acceptance time, whatever happens to it.

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from mesh.features.queues.model.lots.queued_envelope import LotKey, QueuedEnvelope

SPARE = 1_000  # envelopes without ready messages that may remain
FIRST: LotKey = (0, b"", 0)  # before all envelopes


class ReadyIndex:
    """Envelopes with ready messages, ordered by key; some may no longer have any."""

    __slots__ = ("_at", "_lots", "_spare", "priority")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self._lots: list[QueuedEnvelope] = []
        self._at = 0  # index of the first remaining envelope
        self._spare = 0

    def __len__(self) -> int:
        return len(self._lots) - self._at

    def add(self, lot: QueuedEnvelope) -> None:
        """Add an envelope with ready messages, unless it is already here."""
        lots = self._lots
        if not lots or lots[-1].key < lot.key:
            lots.append(lot)
            return
        at = bisect_left(lots, lot.key, lo=self._at, key=_key)
        while at < len(lots) and lots[at].key == lot.key:  # two envelopes may have the same key
            if lots[at] is lot:
                return
            at += 1
        if at == self._at and at > 0:
            self._at = at = at - 1
            lots[at] = lot
        else:
            lots.insert(at, lot)

    def first(self) -> QueuedEnvelope | None:
        """Return the first envelope that has ready messages, or `None`."""
        lots = self._lots
        while self._at < len(lots):
            if lots[self._at].ready:
                return lots[self._at]
            self._at += 1
        lots.clear()
        self._at = self._spare = 0
        return None

    def after(self, key: LotKey) -> Iterator[QueuedEnvelope]:
        """Yield the envelopes behind `key` that have ready messages."""
        if self.first() is None:
            return
        lots = self._lots
        at = max(self._at, bisect_right(lots, key, lo=self._at, key=_key))
        while at < len(lots):
            if lots[at].ready:
                yield lots[at]
            at += 1

    def ahead(self, n: int) -> QueuedEnvelope | None:
        """Return the envelope `n` places behind the first, or the last one; `None` if no message is ready."""
        if self.first() is None:
            return None
        return self._lots[min(self._at + n, len(self._lots) - 1)]

    def before(self, stamp: float) -> int:
        """Return how many envelopes here were accepted before `stamp` (ns since 1970)."""
        lots = self._lots
        if not lots or lots[-1].key[0] < stamp:
            return len(self)
        return bisect_left(lots, stamp, lo=self._at, key=lambda lot: lot.key[0]) - self._at

    def emptied(self) -> None:
        """Count an envelope without ready messages, and compact the list when there are too many."""
        self._spare += 1
        if self._spare > SPARE + len(self) // 2 or self._at > SPARE + len(self):
            self._lots = [lot for lot in self._lots[self._at :] if lot.ready]
            self._at = self._spare = 0


def _key(lot: QueuedEnvelope) -> LotKey:
    return lot.key
