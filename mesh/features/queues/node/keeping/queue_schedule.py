"""The work on queues at the end of an event, when a timer fires, and each second."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Protocol

from mesh.features.queues.node.keeping.dead_lettering import DeadLettering
from mesh.features.queues.node.keeping.overflow import Overflow
from mesh.features.queues.node.keeping.queue_puts import QueuePuts
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.kernel.context.node_context import NodeContext


class QueueScheduleFace(Protocol):
    """The services that `QueueSchedule` needs from the components of transfers and moves."""

    def redeemed(self, queue: QueueSink) -> None:
        """Answer moves that ended here, whose source has kept a copy of the messages until now."""

    def distribute_new(self, queue: QueueSink) -> None:
        """Distribute the new messages of a queue; called only while other nodes are known."""

    def seen_to(self, queue: QueueSink) -> None:
        """React to a changed queue, after its messages were delivered, dead-lettered and written."""

    def stays(self, queue: QueueSink) -> bool:
        """Return whether messages stay for consumers here although this node is being drained."""


class QueueSchedule:
    """The queues of a node that have work to do now or at a later time; it exists as long as the node.

    A scheduled queue is delivered, dead-lettered and written at the end of the event. `others` is empty while
    this node knows no other node.
    """

    def __init__(
        self,
        context: NodeContext,
        puts: QueuePuts,
        overflow: Overflow,
        dying: DeadLettering,
        around: QueueScheduleFace,
        others: Mapping[bytes, object],
    ) -> None:
        self._context = context
        self._puts, self._overflow, self._dying = puts, overflow, dying
        self._around = around
        self._others = others
        self.is_leaving = False  # all messages move away if possible; see Draining
        self._gone: dict[QueueSink, None] = {}  # removed, possibly still on disk
        self._timed: dict[QueueSink, None] = {}  # queues with a timer
        self._due: dict[QueueSink, None] = {}
        # Queues with messages or recent events. The other queues cost nothing.
        self.awake: dict[QueueSink, None] = {}

    def set_leaving(self, is_on: bool) -> None:
        """Begin or end a drain; the caller schedules the queues."""
        self.is_leaving = is_on

    def set_timer(self, queue: QueueSink, at: float) -> None:
        """Wake the node at the time `at` (s), and process the queue as soon as its own timer is due."""
        self._timed[queue] = None
        self._context.clock.wake(at)

    def drop(self, queue: QueueSink) -> None:
        """Forget the timer and the state of a queue that is removed."""
        self._timed.pop(queue, None)
        self.awake.pop(queue, None)

    def delete_rest(self, queue: QueueSink) -> None:
        """Delete the messages of a removed queue from disk, some each second."""
        self._gone[queue] = None

    # --- end of the event -------------------------------------------------------------------------------

    def schedule_queue(self, queue: QueueSink) -> None:
        """Schedule a queue for delivery, dead-lettering and writing at the end of the event."""
        self._due[queue] = self.awake[queue] = None
        self._context.out.ending[self._see_to_all] = None

    def _see_to_all(self) -> None:
        self._overflow.is_tight = self._overflow.look()
        while self._due:
            queue, _ = self._due.popitem()
            part = queue.part
            if part.consumers.is_recovered:
                self._tick_part(queue)
            self._puts.publish_held(queue)
            if queue.fresh or queue.is_behind:
                if self._others:
                    self._around.distribute_new(queue)
                queue.fresh = []
            is_quiet = self._context.leaving.is_quiet
            if not is_quiet and (not self.is_leaving or self._around.stays(queue)):
                queue.giving.give_out()
            if queue.drops_oldest:
                self._overflow.enforce_bound(queue)  # after delivery
            queue.reading.read_next()
            if part.failures.dead:
                self._dying.bury(queue)
            queue.write_changed()
            if part.backlog.pledges.redeemed:
                self._around.redeemed(queue)
            part.search.evict_unwanted()
            if self._others:
                self._around.seen_to(queue)
            if (due := part.due) < inf:
                self._timed[queue] = None
                self._context.clock.wake(due)

    def _tick_part(self, queue: QueueSink) -> None:
        part = queue.part
        was_recovering = part.consumers.is_recovering
        part.tick(self._context.clock.now, self._context.clock.believed)
        if was_recovering and not part.consumers.is_recovering:  # other consumers are no longer expected
            queue.write_changed()  # store which messages they may have
            for key in queue.rows.consumers.get(queue.name, {}).keys() - part.takers.keys():
                queue.rows.takes_no_more(queue.name, key)

    def tick(self) -> None:
        for queue in [queue for queue in self._timed if queue.part.due <= self._context.clock.now]:
            del self._timed[queue]
            self._tick(queue)
        for queue in self._timed:
            self._context.clock.wake(queue.part.due)

    def on_second(self) -> None:
        self._dying.try_again()
        self._overflow.tidy()
        for queue in list(self.awake):
            if queue.part.is_timed or queue.giving.is_stuck:
                self._tick(queue)
            is_leaving = queue.reading.unpage()
            queue.reading.load_void()
            if not (queue.part.backlog.messages or queue.part.takers or is_leaving or queue in self._due):
                del self.awake[queue]
        for queue in [queue for queue in self._gone if not queue.reading.unpage()]:
            del self._gone[queue]

    def _tick(self, queue: QueueSink) -> None:
        self._tick_part(queue)
        self.schedule_queue(queue)
