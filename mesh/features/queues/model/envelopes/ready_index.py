"""The ready envelopes of one priority, in order."""

# Law: the place of an envelope follows from its acceptance time, whatever happens to it.

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from mesh.features.queues.model.envelopes.queued_envelope import EnvelopeKey, QueuedEnvelope

SPARE = 1_000  # envelopes without ready messages that may remain
FIRST: EnvelopeKey = (0, b"", 0)  # before all envelopes


class ReadyIndex:
    """Envelopes with ready messages, ordered by key; some may no longer have any."""

    __slots__ = ("_at", "_envelopes", "_spare", "priority")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self._envelopes: list[QueuedEnvelope] = []
        self._at = 0  # index of the first remaining envelope
        self._spare = 0

    def __len__(self) -> int:
        return len(self._envelopes) - self._at

    def add(self, queued: QueuedEnvelope) -> None:
        """Add an envelope with ready messages, unless it is already here."""
        envelopes = self._envelopes
        if not envelopes or envelopes[-1].key < queued.key:
            envelopes.append(queued)
            return
        at = bisect_left(envelopes, queued.key, lo=self._at, key=_key)
        while at < len(envelopes) and envelopes[at].key == queued.key:  # two envelopes may have the same key
            if envelopes[at] is queued:
                return
            at += 1
        if at == self._at and at > 0:
            self._at = at = at - 1
            envelopes[at] = queued
        else:
            envelopes.insert(at, queued)

    def first(self) -> QueuedEnvelope | None:
        """Return the first envelope that has ready messages, or `None`."""
        envelopes = self._envelopes
        while self._at < len(envelopes):
            if envelopes[self._at].ready:
                return envelopes[self._at]
            self._at += 1
        envelopes.clear()
        self._at = self._spare = 0
        return None

    def after(self, key: EnvelopeKey) -> Iterator[QueuedEnvelope]:
        """Yield the envelopes behind `key` that have ready messages."""
        if self.first() is None:
            return
        envelopes = self._envelopes
        at = max(self._at, bisect_right(envelopes, key, lo=self._at, key=_key))
        while at < len(envelopes):
            if envelopes[at].ready:
                yield envelopes[at]
            at += 1

    def ahead(self, n: int) -> QueuedEnvelope | None:
        """Return the envelope `n` places behind the first, or the last one; `None` if no message is ready."""
        if self.first() is None:
            return None
        return self._envelopes[min(self._at + n, len(self._envelopes) - 1)]

    def before(self, stamp: float) -> int:
        """Return how many envelopes here were accepted before `stamp` (ns since 1970)."""
        envelopes = self._envelopes
        if not envelopes or envelopes[-1].key[0] < stamp:
            return len(self)
        return bisect_left(envelopes, stamp, lo=self._at, key=lambda queued: queued.key[0]) - self._at

    def emptied(self) -> None:
        """Count an envelope without ready messages, and compact the list when there are too many."""
        self._spare += 1
        if self._spare > SPARE + len(self) // 2 or self._at > SPARE + len(self):
            self._envelopes = [queued for queued in self._envelopes[self._at :] if queued.ready]
            self._at = self._spare = 0


def _key(queued: QueuedEnvelope) -> EnvelopeKey:
    return queued.key
