"""Messages that expire at their own time, or after the expiry of their queue."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import count

from mesh.features.queues.model.envelopes.counts import Runs, joined
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.wire.expiry import expiry

S = 10**9  # ns
SPARE = 1_000  # finished envelopes that may stay in the heap


class Expiring:
    """Envelopes ordered by the earliest time (ns since 1970) at which one of their messages expires."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, QueuedEnvelope, int]] = []
        self._next = count()
        self._ended = 0  # upper bound of finished envelopes here

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, queued: QueuedEnvelope, after: float | None) -> None:
        """Add an envelope if any of its messages expires.

        `after` is the expiry of the queue in seconds from acceptance, or `None` if the queue has none.
        """
        limit = queued.envelope.sent + int(after * S) if after is not None else 0
        first = min((at for at in (queued.envelope.expires, limit) if at), default=0)
        if first:
            self._push(first, queued, limit)

    def _push(self, at: int, queued: QueuedEnvelope, limit: int) -> None:
        heappush(self._heap, (at, next(self._next), queued, limit))

    def count_ended(self) -> None:
        """Count an envelope as finished, and compact the heap when too many envelopes are finished."""
        self._ended += 1
        if self._ended > SPARE + len(self._heap) // 2:
            self._heap = [each for each in self._heap if each[2].left]
            heapify(self._heap)
            self._ended = 0

    def take_expired(self, wall: int) -> Iterator[tuple[QueuedEnvelope, Runs]]:
        """Yield each envelope that has expired ready messages, with these messages.

        Expired messages that are not ready are checked again after a second or later.
        """
        while self._heap and self._heap[0][0] <= wall:
            _, _, queued, limit = heappop(self._heap)
            if not queued.left:
                continue
            void, later = _void(queued, limit, wall)
            if later:
                self._push(max(later, wall + S), queued, limit)
            if void:
                yield queued, joined(void)


def _void(queued: QueuedEnvelope, limit: int, wall: int) -> tuple[list[int], int]:
    """Return the expired ready numbers, and when the envelope must be checked again (0: never)."""
    e, void, later = queued.envelope, list[int](), 0
    for i, number in enumerate(e.number_list(range(e.count))):
        own = expiry(e, i) if e.expires else 0
        at = min((at for at in (own, limit) if at), default=0)
        if not at or (queued.done is not None and number in queued.done):
            continue
        if at <= wall and number in queued.ready:
            void.append(number)
        else:
            later = min(later or at, at)
    return void, later
