"""Settlements of a transaction: its deliveries are held until the transaction is stored or refused."""

# Law 1: a held message is outstanding, but no consumer has it: no lease, disconnect or end of the consumer
#   requeues it, it does not count against the credit, and nothing else settles it.
# Law 2: the settlements take effect when the transaction is stored. If it is refused, the consumer has the
#   messages again; if the consumer has left meanwhile, they are redelivered.
# Law 3: the stored row of a held settlement has its own key, and is merged with the row of the envelope. So
#   other changes of the envelope neither undo it, nor outlive a refusal.

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from mesh.features.queues.model.consumers.leased_deliveries import LeasedRun
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.envelopes.counts import count, numbers_of
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.local_queue import LocalQueue

MS = 10**6  # ns


class HeldSettlement(NamedTuple):
    """Delivery tags of a consumer, to be acknowledged, or requeued after `delay` ms."""

    taker: QueueConsumer
    first: int
    last: int
    is_ack: bool
    delay: int = 0


class _Outstanding(NamedTuple):
    """Outstanding messages with consecutive numbers and tags, from `first` and `tag` on."""

    first: int
    last: int
    tag: int
    taker: QueueConsumer
    queued: QueuedEnvelope


_first = attrgetter("first")


class OutstandingIndex:
    """The outstanding messages of one session in one queue, by ranges. Each is found once."""

    def __init__(self, takers: Iterable[QueueConsumer]) -> None:
        self._ranges: dict[bytes, list[_Outstanding]] = {}
        self._found: set[tuple[QueueConsumer, int]] = set()
        for taker in takers:
            for run in taker.holding:
                tag = run.tag
                for first, last in run.runs:
                    ranges = self._ranges.setdefault(run.queued.key[1], [])
                    ranges.append(_Outstanding(first, last, tag, taker, run.queued))
                    tag += last - first + 1
        for ranges in self._ranges.values():
            ranges.sort(key=_first)

    def take(self, stream: bytes, number: int) -> tuple[QueueConsumer, int, QueuedEnvelope] | None:
        """Return the consumer, tag and envelope of a message, or `None` if the session does not have it."""
        ranges = self._ranges.get(stream, [])
        for at in range(bisect_right(ranges, number, key=_first) - 1, -1, -1):
            each = ranges[at]
            tag = each.tag + number - each.first
            if number <= each.last and (each.taker, tag) not in self._found:
                self._found.add((each.taker, tag))
                return each.taker, tag, each.queued
        return None


class HeldSettlements:
    """The settlements of one transaction in one local queue, from their plan to their end."""

    def __init__(self, part: LocalQueue, settled: Sequence[HeldSettlement]) -> None:
        self._part = part
        self._settled = settled
        self._held: list[tuple[HeldSettlement, LeasedRun]] = []

    def hold(self) -> None:
        """Take the deliveries from their consumers."""
        for each in self._settled:
            self._held += [(each, run) for run in each.taker.holding.settle(each.first, each.last)]

    def rows(self, wall: int) -> Iterator[tuple[int, bytes]]:
        """Yield the position of each persistent envelope, and the row of its held settlements."""
        runs_of: dict[QueuedEnvelope, list[tuple[HeldSettlement, LeasedRun]]] = {}
        for each, run in self._held:
            if run.queued.stored.position:
                runs_of.setdefault(run.queued, []).append((each, run))
        for queued, held in runs_of.items():
            yield queued.stored.position, _row_of(queued, held, wall)

    def land(self, now: float, wall: int, is_removed: bool) -> int:
        """Let the settlements take effect, and return the number of acks.

        `is_removed` means that the queue was removed meanwhile, with all its messages.
        """
        part, held, self._held = self._part, self._held, []
        before = part.deliveries.acked
        for each, run in held:
            part.deliveries.end_delivery(run)
            if each.is_ack:
                part.deliveries.acked += run.n
                each.taker.acked.extend([(run.queued.key[1], *pair) for pair in run.runs])
            if each.is_ack or is_removed:
                part.backlog.done(run.queued, run.runs)
            elif not each.delay:
                part.failures.requeue(run.queued, run.runs)
            else:
                for first, last in part.failures.count_attempts(run.queued, run.runs):
                    part.backlog.later.delay_returned(run.queued, first, last, each.delay / 1000, now, wall)
        return part.deliveries.acked - before

    def give_back(self, is_removed: bool, to_consumers: bool = True) -> None:
        """Return the deliveries to their consumers, or redeliver those of consumers that have left.

        Without `to_consumers`, all are redelivered: the consumers know that they are settled.
        """
        held, self._held = self._held, []
        for each, run in held:
            if to_consumers and self._part.takers.get(each.taker.key) is each.taker and not is_removed:
                each.taker.holding.put_back(run)
                continue
            self._part.deliveries.end_delivery(run)
            if is_removed:
                self._part.backlog.done(run.queued, run.runs)
            else:
                self._part.failures.requeue(run.queued, run.runs)


def freed(settled: Iterable[tuple[QueuedEnvelope, int]]) -> tuple[int, int]:
    """Return how many messages and bytes a queue loses by acks of `settled`: envelopes with their messages.

    An envelope counts in bytes until all of it is done.
    """
    counts: dict[QueuedEnvelope, int] = {}
    for queued, n in settled:
        counts[queued] = counts.get(queued, 0) + n
    return sum(counts.values()), sum(queued.size for queued, n in counts.items() if n == queued.left)


def _row_of(queued: QueuedEnvelope, held: Sequence[tuple[HeldSettlement, LeasedRun]], wall: int) -> bytes:
    changes = QueuedEnvelope(queued.stored)
    changes.tries = {}
    for each, run in held:
        if each.is_ack:
            changes.mark_done(run.runs)
            continue
        changes.tries.update({n: queued.tries.get(n, 0) for n in numbers_of(run.runs)})
        changes.tried(run.runs)
        for first, last in run.runs if each.delay else ():
            changes.delay_messages(first, last, wall, each.delay * MS)
    assert changes.left == queued.envelope.count - sum(count(run.runs) for each, run in held if each.is_ack)
    return changes.row()
