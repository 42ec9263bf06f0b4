"""The deliveries of a local queue that are not settled: acks, nacks, rejections and leases."""

# Law 1: an outstanding message has one consumer until it is settled, its lease ends or the consumer leaves.
# Law 2: a message whose lease ended can still be acknowledged while it is ready.
# Law 3: settling a tag that is not outstanding changes nothing, and is reported.

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from mesh.features.queues.model.consumers.leased_deliveries import LeasedRun
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.envelopes.counts import Runs, joined
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.failed_deliveries import REJECTED, FailedDeliveries
from mesh.features.queues.model.part.queue_backlog import QueueBacklog


class QueueDeliveries:
    """The outstanding messages of all consumers of a local queue, which are in `takers`."""

    def __init__(
        self, backlog: QueueBacklog, failures: FailedDeliveries, takers: Mapping[bytes, QueueConsumer]
    ) -> None:
        self.out = 0  # outstanding messages
        self.acked = 0  # since the start
        self._backlog = backlog
        self._failures = failures
        self._takers = takers

    def record_delivery(self, taker: QueueConsumer, queued: QueuedEnvelope, runs: Runs, until: float) -> None:
        """Record that a consumer has `runs`, which are no longer ready, with leases that end at `until`."""
        n = taker.holding.add_delivery(queued, runs, until)
        self.out += n
        self._backlog.groups.out(queued.group, taker, n)

    def end_delivery(self, run: LeasedRun) -> None:
        """Record that the consumer no longer has the messages of a run."""
        self.out -= run.n
        if run.queued.given is not None and run.queued.returned(run.runs):
            self._backlog.changed[run.queued] = None
        if self._backlog.groups.remove_outstanding(run.queued.group, run.n):
            self.look_again()

    def free_groups(self, taker: QueueConsumer) -> None:
        """Free the message groups of a consumer that has left, for other consumers."""
        if self._backlog.groups.free_groups(taker):
            self.look_again()

    def look_again(self) -> None:
        """Let all consumers search again from the front, because a message group is free."""
        for taker in self._takers.values():
            taker.passed.clear()

    # --- settling ---------------------------------------------------------------------------------------

    def ack(self, taker: QueueConsumer, first: int, last: int) -> Runs:
        """Acknowledge the delivery tags `first` to `last`, and return the tags that the consumer had lost.

        An ack after the end of the lease counts if the message is still ready. Raises: RemoteError for tags
        that were never used.
        """
        runs = taker.holding.settle(first, last)
        for run in runs:
            self.end_delivery(run)
            self.acked += run.n
            taker.acked.extend([(run.queued.key[1], *each) for each in run.runs])
            self._backlog.done(run.queued, run.runs)
        if sum([run.n for run in runs]) == last - first + 1:
            return []
        ours = {*taker.settled, *_tags(runs), *self._ack_late(taker, first, last)}
        return joined(n for n in range(first, last + 1) if n not in ours)

    def _ack_late(self, taker: QueueConsumer, first: int, last: int) -> set[int]:
        """Acknowledge messages whose lease ended, and return the tags that still counted."""
        ours: set[int] = set()
        for tag, queued, number in taker.take_lapsed(first, last):
            if number in queued.ready:  # not delivered to another consumer since
                queued.take_out([(number, number)])
                self.acked += 1
                self._backlog.done(queued, [(number, number)])
                ours.add(tag)
        return ours

    def nack(self, taker: QueueConsumer, first: int, last: int, delay: float, now: float, wall: int) -> Runs:
        """Requeue the messages of the given tags after `delay` seconds, if they have attempts left.

        The others are dead-lettered. Return the tags that were not outstanding. Raises as `ack`.
        """
        runs = taker.holding.settle(first, last)
        for run in runs:
            self.end_delivery(run)
            if not delay:
                self._failures.requeue(run.queued, run.runs)
                continue
            for a, b in self._failures.count_attempts(run.queued, run.runs):
                self._backlog.later.delay_returned(run.queued, a, b, delay, now, wall)
        return _others(runs, first, last)

    def reject(self, taker: QueueConsumer, first: int, last: int, reason: str) -> Runs:
        """Dead-letter the messages of the given tags, and return the tags that were not outstanding.

        Raises as `ack`.
        """
        runs = taker.holding.settle(first, last)
        for run in runs:
            self.end_delivery(run)
            run.queued.tried(run.runs)  # delivered again if the node ends before the dead letter is stored
            self._backlog.changed[run.queued] = None
            text = reason or f"The consumer {taker.name} rejected the message."
            self._failures.add(run.queued, run.runs, REJECTED, text)
        return _others(runs, first, last)

    # --- leases -----------------------------------------------------------------------------------------

    def extend(self, taker: QueueConsumer, first: int, last: int, until: float) -> Runs:
        """Set the leases of the given tags to end at `until`, and return the tags that were not outstanding.

        Raises as `ack`.
        """
        return _others(taker.holding.extend(first, last, until), first, last)

    @property
    def has_leases(self) -> bool:
        return any(taker.lease < inf for taker in self._takers.values())

    @property
    def due(self) -> float:
        """The time when the first lease ends; infinity if none does."""
        due = inf
        for taker in self._takers.values():
            if taker.lease < inf:
                due = min(due, taker.holding.first_over)
        return due

    def end_leases(self, now: float) -> None:
        """Requeue the messages whose lease is over."""
        for taker in self._takers.values():
            for run in taker.holding.take_lapsed(now) if taker.lease < inf else ():
                self.end_delivery(run)
                taker.lapse(run)
                self._failures.requeue(run.queued, run.runs)


def _tags(runs: list[LeasedRun]) -> set[int]:
    return {run.tag + i for run in runs for i in range(run.n)}


def _others(runs: list[LeasedRun], first: int, last: int) -> Runs:
    """Return the tags from `first` to `last` that no run in `runs` covers."""
    if sum(run.n for run in runs) == last - first + 1:
        return []
    ours = _tags(runs)
    return joined(n for n in range(first, last + 1) if n not in ours)
