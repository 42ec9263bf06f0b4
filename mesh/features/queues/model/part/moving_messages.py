"""The messages of a local queue that move to other nodes, until their target has accepted or refused them."""

# Law 1: a moving message is neither ready nor with a consumer.
# Law 2: an accepted message is done here. A refused one becomes ready only after its row is on disk.

from __future__ import annotations

from mesh.features.queues.model.envelopes.counts import Runs, count
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.queue_backlog import QueueBacklog


class MovingMessages:
    """The messages of a local queue in transit to other nodes; `leaving` has their envelopes."""

    def __init__(self, backlog: QueueBacklog) -> None:
        self.messages = 0
        self.leaving: dict[QueuedEnvelope, None] = {}
        self._backlog = backlog

    def restore_moves(self, queued: QueuedEnvelope) -> None:
        """Count the moves of a restored envelope that have not ended."""
        self.leaving[queued] = None
        self._count(queued, sum(count(runs) for runs, _, _ in queued.going))

    def start_transfer(self, queued: QueuedEnvelope, runs: Runs, node: bytes, number: int) -> int:
        """Mark ready messages as moving to `node` under `number`, and return their count."""
        backlog = self._backlog
        if backlog.watch is not None:
            backlog.watch.goes(queued, runs, node)
        n = count(runs)
        queued.take_out(runs)
        queued.start_transfer(runs, node, number)
        self.leaving[queued] = None
        self._count(queued, n)
        backlog.changed[queued] = None
        if not queued.ready:
            backlog.order.line(queued.priority).emptied()
        return n

    def finish_moved(self, queued: QueuedEnvelope, node: bytes, number: int) -> int:
        """Discard the messages that `node` has accepted under `number`, and return their count."""
        runs = self._no_more(queued, node, number)
        if self._backlog.watch is not None:
            self._backlog.watch.went(queued, runs, node)
        n = self._backlog.done(queued, runs)
        self._count(queued, -n)
        return n

    def record_refused_transfer(
        self, queued: QueuedEnvelope, node: bytes, number: int, is_sure: bool
    ) -> Runs:
        """End a refused move, and return its messages.

        The caller passes the messages to `came_back` or `gave_up` after their row is stored. `is_sure` means
        that no consumer at `node` received them.
        """
        runs = self._no_more(queued, node, number)
        if self._backlog.watch is not None:
            self._backlog.watch.transfer_refused(queued, runs, node)
        if not is_sure:
            queued.may_have_been_given(runs)
        self._backlog.changed[queued] = None
        return runs

    def came_back(self, queued: QueuedEnvelope, runs: Runs) -> None:
        """Make the messages of a refused move ready, after their row is on disk."""
        if self._backlog.watch is not None:
            self._backlog.watch.came_back(queued, runs)
        self._count(queued, -count(runs))
        self._backlog.make_ready(queued, runs)

    def gave_up(self, queued: QueuedEnvelope, runs: Runs) -> None:
        """Discard messages of a refused move because the queue was removed; their row is on disk."""
        if self._backlog.watch is not None:
            self._backlog.watch.gave_up(queued, runs)
        self._count(queued, -count(runs))
        self._backlog.done(queued, runs)

    def end_queue(self) -> None:
        """Discard all moving messages."""
        for queued in list(self.leaving):
            for _, node, number in queued.going[:]:
                self.finish_moved(queued, node, number)

    def _count(self, queued: QueuedEnvelope, n: int) -> None:
        self.messages += n
        self._backlog.groups.add_moving(queued.group, n)

    def _no_more(self, queued: QueuedEnvelope, node: bytes, number: int) -> Runs:
        runs = queued.go_no_more(node, number)
        if not queued.going:
            self.leaving.pop(queued, None)
        return runs
