"""The part of a queue at one node: its messages, its consumers, and the outcome of each delivery."""

# Law 1: a message is delivered to one consumer at a time. The next one receives it as redelivered.
# Law 2: messages of one producer are delivered in the order of publication, except redeliveries, delayed
#   messages and other priorities.
# Law 3: messages of one group are with one consumer at a time.
# Law 4: a settled message is never delivered again.
# Law 5: messages = ready + out + delayed + unclaimed + moving + dead, at every moment.

from __future__ import annotations

from math import inf

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.delivery_order import DeliveryOrder
from mesh.features.queues.model.part.failed_deliveries import FailedDeliveries
from mesh.features.queues.model.part.moving_messages import MovingMessages
from mesh.features.queues.model.part.queue_backlog import QueueBacklog
from mesh.features.queues.model.part.queue_consumers import QueueConsumers
from mesh.features.queues.model.part.queue_deliveries import QueueDeliveries
from mesh.features.queues.model.part.searching import SelectorSearch
from mesh.routing.memory import Memory


class LocalQueue:
    """The part of a queue at this node: its messages, consumers, deliveries, moves and searches."""

    def __init__(self, name: str, terms: QueueTerms, memory: Memory | None = None) -> None:
        self.name = name
        self.terms = terms
        self.takers: dict[bytes, QueueConsumer] = {}
        self.order = DeliveryOrder()
        self.backlog = QueueBacklog(terms, memory or Memory(inf), self.order, self.takers)
        self.failures = FailedDeliveries(name, self.backlog)
        self.deliveries = QueueDeliveries(self.backlog, self.failures, self.takers)
        self.consumers = QueueConsumers(self.backlog, self.failures, self.deliveries, self.takers)
        self.moving = MovingMessages(self.backlog)
        self.search = SelectorSearch(self.backlog, self.consumers)

    def set_terms(self, terms: QueueTerms) -> None:
        self.terms = self.backlog.terms = terms

    @property
    def is_consumed(self) -> bool:
        """True if consumers are here, apart from sessions that moved to another node."""
        for taker in self.takers.values():  # noqa: SIM110  # `any` costs two calls more for each message
            if not taker.is_elsewhere:
                return True
        return False

    @property
    def ready(self) -> int:
        """The number of ready messages, in memory or on disk."""
        backlog = self.backlog
        return (
            backlog.messages - backlog.later.messages - self.away - self.failures.dying - self.moving.messages
        )

    @property
    def held(self) -> int:
        """The number of messages that transactions hold."""
        return self.deliveries.out - sum(taker.busy for taker in self.takers.values())

    @property
    def away(self) -> int:
        """The number of messages that consumers have, or may still claim after a restart."""
        unclaimed = self.consumers.unclaimed
        return self.deliveries.out + (unclaimed.messages if unclaimed is not None else 0)

    def add(self, queued: QueuedEnvelope, now: float, wall: int, is_doubtful: bool = False) -> None:
        """Add an envelope and keep it in memory.

        `is_doubtful` means that consumers may already have messages of the envelope and claim them.
        """
        is_doubtful = is_doubtful and self.consumers.is_recovering
        runs = self.backlog.add(queued, now, wall, is_doubtful)
        if queued.going:
            self.moving.restore_moves(queued)
        self.backlog.make_ready(queued, self.consumers.hold_back(queued, runs) if is_doubtful else runs)

    def end_queue(self) -> None:
        """Close the local queue: remove all consumers and discard all messages."""
        self.consumers.end_queue()
        for dead in self.failures.take_dead():
            self.failures.buried(dead)
        self.moving.end_queue()
        self.backlog.purge()

    @property
    def is_timed(self) -> bool:
        """Whether messages in memory can expire or leases can end."""
        return bool(self.backlog.expiring) or self.deliveries.has_leases

    @property
    def due(self) -> float:
        """The time of the next event that `tick` handles, or infinity; expiry is not included."""
        unclaimed = self.consumers.unclaimed
        until = unclaimed.until if unclaimed is not None else inf
        return min(self.backlog.later.due, until, self.deliveries.due, self.search.looks_at)

    def tick(self, now: float, wall: int) -> None:
        """Requeue messages whose delay or lease is over, end recovery when due, and expire messages."""
        backlog = self.backlog
        self.consumers.end_recovery(now)
        while backlog.later.due <= now:
            queued, first, last = backlog.later.pop()
            backlog.changed[queued] = None
            backlog.make_ready(queued, [(first, last)])
            if queued.group:  # the delayed message may have blocked its group
                self.deliveries.look_again()
        self.deliveries.end_leases(now)
        self.failures.expire(wall)
