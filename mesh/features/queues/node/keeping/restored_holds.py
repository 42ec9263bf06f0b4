"""Deliveries that prepared transactions hold over a restart of the node."""

# Law: while the node starts, no held message becomes ready: its envelope stays in memory, and the
#      transaction has the message as a consumer that no lease, connection or grace ends.

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.envelopes.counts import joined
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.streams.ranges import Ranges

ALL = 2**31  # credit


class RestoredHolds:
    """The held messages of one queue, by stream, until the envelopes are restored."""

    def __init__(self) -> None:
        self._held: dict[bytes, list[tuple[Ranges, QueueConsumer]]] = {}
        self.takers: dict[bytes, QueueConsumer] = {}  # by transaction

    def add_held(self, transaction: bytes, stream: bytes, runs: Sequence[tuple[int, int]]) -> None:
        taker = self.takers.get(transaction)
        if taker is None:
            taker = self.takers[transaction] = QueueConsumer(
                b"tx" + transaction, "a prepared transaction", 0, ALL
            )
        numbers = Ranges()
        numbers.add_all(runs)
        self._held.setdefault(stream, []).append((numbers, taker))

    def has(self, stream: bytes) -> bool:
        return stream in self._held

    def take_held(self, part: LocalQueue, queued: QueuedEnvelope) -> None:
        """Give the held messages of an envelope, which was just added, to their transactions."""
        for numbers, taker in self._held[queued.key[1]]:
            found = [
                n for run in queued.open() for n in _numbers(numbers.common(*run)) if _take(part, queued, n)
            ]
            numbers.remove_all(runs := joined(found))
            if runs:
                part.deliveries.record_delivery(taker, queued, runs, float("inf"))


def _numbers(runs: Iterable[tuple[int, int]]) -> Iterable[int]:
    return (n for first, last in runs for n in range(first, last + 1))


def _take(part: LocalQueue, queued: QueuedEnvelope, number: int) -> bool:
    """Remove a message from the ready or the unclaimed ones, and return whether it was there."""
    if queued.take_out([(number, number)]):
        return True
    unclaimed = part.consumers.unclaimed
    return unclaimed is not None and unclaimed.claim_of(queued, number)
