"""Failed deliveries of a local queue: their messages are redelivered or dead-lettered."""

# Law 1: a message is dead once it failed as often as the terms of its queue allow, was rejected, or expired.
# Law 2: a dead message counts as dying, and stays in the backlog, until its dead letter is stored.

from __future__ import annotations

from msgspec import Struct

from mesh.features.queues.model.envelopes.counts import Runs, count, joined, numbers_of
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.queue_backlog import QueueBacklog

EXPIRED, REJECTED, TRIED = "EXPIRED", "REJECTED", "TOO_MANY_ATTEMPTS"  # why a message is dead


class DeadMessages(Struct):
    """Messages of one envelope that are no longer delivered, with the reason.

    They count as done when the dead letter is stored.
    """

    queued: QueuedEnvelope
    runs: Runs
    code: str
    text: str


class FailedDeliveries:
    """Counts failed attempts in the queue `name`, and collects in `dead` the messages to dead-letter."""

    def __init__(self, name: str, backlog: QueueBacklog) -> None:
        self.dead: list[DeadMessages] = []
        self.dying = 0  # messages whose dead letter is not stored
        self.died = self.redelivered = 0  # messages since the node's start
        self._name = name
        self._backlog = backlog

    def requeue(self, queued: QueuedEnvelope, runs: Runs) -> None:
        """Count a failed attempt of each message, and requeue the messages that have attempts left.

        The other messages are dead-lettered.
        """
        self._backlog.make_ready(queued, self.count_attempts(queued, runs))

    def count_attempts(self, queued: QueuedEnvelope, runs: Runs) -> Runs:
        """Count a failed attempt, dead-letter the messages without attempts left, and return the others."""
        queued.tried(runs)
        self._backlog.changed[queued] = None
        self.redelivered += count(runs)
        most = self._backlog.terms.max_attempts
        over = [n for n in numbers_of(runs) if queued.failures(n) >= most]
        if not over:
            return runs
        text = f"The message failed at {most} {'delivery' if most == 1 else 'deliveries'}."
        self.add(queued, joined(over), TRIED, text)
        return joined(n for n in numbers_of(runs) if queued.failures(n) < most)

    def expire(self, wall: int) -> None:
        """Dead-letter the ready messages in memory that have expired."""
        for queued, runs in self._backlog.expiring.take_expired(wall):
            queued.take_out(runs)
            self.add(queued, runs, EXPIRED, f"The message expired in {self._name}.")

    def add(self, queued: QueuedEnvelope, runs: Runs, code: str, text: str) -> None:
        """Dead-letter messages that are neither ready nor out."""
        self.dying += count(runs)
        self.died += count(runs)
        self.dead.append(DeadMessages(queued, runs, code, text))

    def take_dead(self) -> list[DeadMessages]:
        dead, self.dead = self.dead, []
        return dead

    def buried(self, dead: DeadMessages) -> None:
        """Remove dead messages from the backlog, after their dead letters are stored."""
        self.dying -= count(dead.runs)
        self._backlog.done(dead.queued, dead.runs)
