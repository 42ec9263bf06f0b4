"""The messages of a local queue that move to other nodes, until their target has accepted or refused them."""

# Law 1: a moving message is neither ready nor with a consumer.
# Law 2: an accepted message is done here. A refused one becomes ready only after its row is on disk.

from __future__ import annotations

from mesh.features.queues.model.lots.counts import Runs, count
from mesh.features.queues.model.lots.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.queue_backlog import QueueBacklog


class MovingMessages:
    """The messages of a local queue in transit to other nodes; `leaving` has their envelopes."""

    def __init__(self, backlog: QueueBacklog) -> None:
        self.messages = 0
        self.leaving: dict[QueuedEnvelope, None] = {}
        self._backlog = backlog

    def restore(self, lot: QueuedEnvelope) -> None:
        """Count the moves of a restored envelope that have not ended."""
        self.leaving[lot] = None
        self._count(lot, sum(count(runs) for runs, _, _ in lot.going))

    def start_transfer(self, lot: QueuedEnvelope, runs: Runs, node: bytes, number: int) -> int:
        """Mark ready messages as moving to `node` under `number`, and return their count."""
        backlog = self._backlog
        if backlog.watch is not None:
            backlog.watch.goes(lot, runs, node)
        n = count(runs)
        lot.take_out(runs)
        lot.start_transfer(runs, node, number)
        self.leaving[lot] = None
        self._count(lot, n)
        backlog.changed[lot] = None
        if not lot.ready:
            backlog.order.line(lot.priority).emptied()
        return n

    def finish_moved(self, lot: QueuedEnvelope, node: bytes, number: int) -> int:
        """Discard the messages that `node` has accepted under `number`, and return their count."""
        runs = self._no_more(lot, node, number)
        if self._backlog.watch is not None:
            self._backlog.watch.went(lot, runs, node)
        n = self._backlog.done(lot, runs)
        self._count(lot, -n)
        return n

    def record_refused_transfer(self, lot: QueuedEnvelope, node: bytes, number: int, is_sure: bool) -> Runs:
        """End a refused move, and return its messages.

        The caller passes the messages to `came_back` or `gave_up` after their row is stored. `is_sure` means
        that no consumer at `node` received them.
        """
        runs = self._no_more(lot, node, number)
        if self._backlog.watch is not None:
            self._backlog.watch.transfer_refused(lot, runs, node)
        if not is_sure:
            lot.may_have_been_given(runs)
        self._backlog.changed[lot] = None
        return runs

    def came_back(self, lot: QueuedEnvelope, runs: Runs) -> None:
        """Make the messages of a refused move ready, after their row is on disk."""
        if self._backlog.watch is not None:
            self._backlog.watch.came_back(lot, runs)
        self._count(lot, -count(runs))
        self._backlog.make_ready(lot, runs)

    def gave_up(self, lot: QueuedEnvelope, runs: Runs) -> None:
        """Discard messages of a refused move because the queue was removed; their row is on disk."""
        if self._backlog.watch is not None:
            self._backlog.watch.gave_up(lot, runs)
        self._count(lot, -count(runs))
        self._backlog.done(lot, runs)

    def end_queue(self) -> None:
        """Discard all moving messages."""
        for lot in list(self.leaving):
            for _, node, number in lot.going[:]:
                self.finish_moved(lot, node, number)

    def _count(self, lot: QueuedEnvelope, n: int) -> None:
        self.messages += n
        self._backlog.groups.add_moving(lot.group, n)

    def _no_more(self, lot: QueuedEnvelope, node: bytes, number: int) -> Runs:
        runs = lot.go_no_more(node, number)
        if not lot.going:
            self.leaving.pop(lot, None)
        return runs
