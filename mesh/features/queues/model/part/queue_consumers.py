"""The consumers of a local queue: how they register, return and leave, even across a restart of the node."""

# Law 1: a consumer that returns keeps the messages that it names and had. Its other messages count as failed
#   once more.
# Law 2: after a restart, messages that consumers may have wait until all consumers have returned or the time
#   is over.
# Law 3: only a consumer from before the restart can claim such a message.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.envelopes.counts import Runs, count, first_of, numbers_of, slice_of, without
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.failed_deliveries import FailedDeliveries
from mesh.features.queues.model.part.queue_backlog import QueueBacklog
from mesh.features.queues.model.part.queue_deliveries import QueueDeliveries
from mesh.features.queues.model.part.unclaimed_deliveries import UnclaimedDeliveries

HeldNumbers = Sequence[tuple[bytes, Sequence[int]]]  # by stream: first, last, ... of held messages


class QueueConsumers:
    """The consumers of a local queue, in `takers` by the key of their subscription.

    `unclaimed` is set while consumers from before a restart may return.
    """

    def __init__(
        self,
        backlog: QueueBacklog,
        failures: FailedDeliveries,
        deliveries: QueueDeliveries,
        takers: dict[bytes, QueueConsumer],
    ) -> None:
        self.takers = takers
        self.unclaimed: UnclaimedDeliveries | None = None
        self._backlog = backlog
        self._failures = failures
        self._deliveries = deliveries

    def eligible(self) -> list[QueueConsumer]:
        """Return the consumers that may receive messages: only the first one if the queue is exclusive."""
        takers = [taker for taker in self.takers.values() if not taker.is_elsewhere]
        if not self._backlog.terms.exclusive:
            return takers
        return [taker for taker in takers[:1] if next(iter(self.takers.values())) is taker]

    def add_consumer(self, taker: QueueConsumer, held: HeldNumbers = ()) -> list[int]:
        """Register a consumer, and return the delivery tags of `held` messages that it no longer has.

        The k-th message in `held` gets tag k, even if the consumer no longer has it. Messages of its former
        registration that it does not keep count as failed once more, and are requeued or dead-lettered.
        """
        old = self.takers.get(taker.key)
        mine: dict[tuple[bytes, int], list[QueuedEnvelope]] = {}
        for run in old.holding.take_all() if old is not None else ():
            self._deliveries.end_delivery(run)
            for number in numbers_of(run.runs):
                mine.setdefault((run.queued.envelope.stream, number), []).append(run.queued)
        self.takers[taker.key] = taker  # at the same place, which decides in an exclusive queue
        if old is not None:
            taker.acked = old.acked  # the consumer may claim these again
            if old.selector == taker.selector:
                taker.seen, taker.vain = old.seen, old.vain
            self._backlog.review_picked()
        void = list(self._claimed(old, mine, held, taker))
        for (_, number), envelopes in mine.items():
            for queued in envelopes:
                self._failures.requeue(queued, [(number, number)])
        if old is not None:
            self._deliveries.free_groups(old)
        if self.unclaimed is not None:
            self.unclaimed.expected.discard(taker.key)
        return void

    def _claimed(
        self,
        old: QueueConsumer | None,
        mine: dict[tuple[bytes, int], list[QueuedEnvelope]],
        held: HeldNumbers,
        taker: QueueConsumer,
    ) -> Iterator[int]:
        for stream, ends in held:
            for first, last in zip(ends[::2], ends[1::2], strict=True):
                for number in range(first, last + 1):
                    envelopes, queued = mine.get((stream, number)), None
                    if taker.busy < taker.credit:
                        queued = envelopes.pop() if envelopes else self._from_doubt(taker, stream, number)
                    if queued is None:
                        taker.holding.skip(1)
                        yield taker.holding.given
                        if _was_acked(old, stream, number):
                            taker.settled.add(taker.holding.given)
                    else:
                        self._deliveries.record_delivery(taker, queued, [(number, number)], inf)

    def _from_doubt(self, taker: QueueConsumer, stream: bytes, number: int) -> QueuedEnvelope | None:
        """Claim an unclaimed message, which only a consumer from before the restart may do."""
        unclaimed = self.unclaimed
        if unclaimed is None or taker.key not in unclaimed.expected:
            return None
        return unclaimed.claim(stream, number)

    def close(self, taker: QueueConsumer, begun: float = inf) -> None:
        """Remove a consumer and requeue its messages.

        Messages with tags after `begun` were not seen by the consumer and do not count as failed attempts.
        """
        del self.takers[taker.key]
        self._backlog.review_picked()
        for run in taker.holding.take_all():
            self._deliveries.end_delivery(run)
            seen = int(max(0, min(run.n, begun - run.tag + 1)))
            if seen:
                self._failures.requeue(run.queued, first_of(run.runs, seen))
            if seen < run.n:
                self._backlog.make_ready(run.queued, slice_of(run.runs, seen, run.n))
        self._deliveries.free_groups(taker)

    def end_queue(self) -> None:
        """Remove all consumers, and requeue the messages that they had or may have had."""
        for taker in list(self.takers.values()):
            self.close(taker)
        unclaimed, self.unclaimed = self.unclaimed, None
        for queued, runs in unclaimed.rest() if unclaimed is not None else ():
            self._backlog.make_ready(queued, runs)

    # --- recovery ---------------------------------------------------------------------------------------

    @property
    def is_recovering(self) -> bool:
        return self.unclaimed is not None

    @property
    def is_recovered(self) -> bool:
        """Whether the queue is recovering, and all consumers that may have messages have returned."""
        return self.unclaimed is not None and not self.unclaimed.expected

    def recover(self, until: float, expected: Mapping[bytes, int]) -> None:
        """Start recovery: messages that may have been delivered wait until `until` for their consumers.

        `expected` maps the key of each consumer that may return to the most messages that it can have.
        """
        self.unclaimed = UnclaimedDeliveries(until, set(expected), sum(expected.values()))

    def hold_back(self, queued: QueuedEnvelope, runs: Runs) -> Runs:
        """While this queue recovers, hold back the messages that consumers may have; return the others."""
        if self.unclaimed is None:
            return runs
        # After a clock change, messages that are delayed by the new clock may have been due by the old one.
        queued.may_have_been_given([(first, last) for first, last, _, _ in queued.late])
        doubtful = queued.with_somebody(runs)
        self.unclaimed.add(queued, doubtful)
        for first, last in doubtful:
            runs = without(runs, first, last)
        return runs

    def end_recovery(self, now: float) -> None:
        """Requeue the unclaimed messages if the time is over or all consumers have returned.

        As many messages as the consumers can have had count as failed attempts. The rest was most likely
        never delivered, and is only marked as possibly redelivered.
        """
        unclaimed = self.unclaimed
        if unclaimed is None or (unclaimed.until > now and unclaimed.expected):
            return
        self.unclaimed, most = None, unclaimed.most
        for queued, runs in unclaimed.rest():
            tried = first_of(runs, most)
            most -= count(tried)
            queued.returned(runs)
            self._failures.requeue(queued, tried)
            runs = slice_of(runs, count(tried), count(runs))
            queued.may_have_been_given(runs)
            self._backlog.changed[queued] = None
            self._backlog.make_ready(queued, runs)


def _was_acked(old: QueueConsumer | None, stream: bytes, number: int) -> bool:
    """Return whether `old`, the former registration, acknowledged the message.

    After a restart this is unknown, and the consumer's claim is no proof.
    """
    return old is not None and any(s == stream and a <= number <= b for s, a, b in old.acked)
