"""Drops the oldest messages of durable subscriptions that are full, or while the disk is nearly full."""

# Law 1: a full durable subscription does not reject messages, unless limits.durable_full says so.
#   Its losses are counted, and an event reports them at most `EVERY` seconds later.
# Law 2: while the disk is nearly full, queues on it do not grow: new persistent messages are refused, and the
#   largest durable subscriptions lose messages until there is space again.

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf

from msgspec import Struct

from mesh.features.queues.model.part.dropping import drop_bytes, drop_excess
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.kernel.context.node_context import NodeContext

EVERY = 60.0  # s between two events about one queue
SOON = 1.0  # s until the first event
DROPPED = "durable_dropped"  # the counter
SHRINKS = 16  # 1/SHRINKS is dropped per second
LEAST = 1 << 20  # minimum number of bytes dropped per second


class Loss(Struct):
    """The messages that a queue has lost since the last event about it."""

    messages: int = 0
    next_event: float = 0.0
    is_for_disk: bool = False  # the last of them were dropped because the disk is nearly full

    def take_due(self, now: float) -> int:
        """Return how many lost messages to report now, and count them as reported."""
        if not self.messages or now < self.next_event:
            return 0
        messages, self.messages, self.next_event = self.messages, 0, now + EVERY
        return messages


def shrunk(most: float, held: int) -> float:
    """Return the next limit for all durable subscriptions together while the disk is nearly full.

    `most` is the previous limit, or `inf` if there was none; `held` is their total size now. All are in
    bytes. The caller calls this once a second.
    """
    return held if most == inf else max(0, most - max(LEAST, most // SHRINKS))


class Overflow:
    """Keeps durable subscriptions within their limits, and reserves the last disk space for other uses.

    `all_here()` returns the queues.
    """

    def __init__(self, context: NodeContext, all_here: Callable[[], Iterable[QueueSink]]) -> None:
        self._context = context
        self._all_here = all_here
        self._losses: dict[QueueSink, Loss] = {}
        self._most: float = inf  # bytes that durable subscriptions may hold on the node's own disk
        self._was_tight = False  # at the previous check
        self.is_tight = False  # disk nearly full at the latest check
        self.look: Callable[[], bool] = lambda: False  # returns whether the disk is nearly full

    def enforce_bound(self, queue: QueueSink) -> None:
        """Drop the oldest messages of `queue` beyond its limits.

        On a nearly full disk, the largest durable subscriptions in the node's own store also lose messages,
        whichever queue was given.
        """
        if queue.lost:
            lost, queue.lost = queue.lost, 0
            self._dropped(queue, lost, is_for_disk=True)
        if dropped := drop_excess(queue.part):
            self._dropped(queue, dropped, is_for_disk=False)
        if self.is_tight:
            self._keep_most()

    def _keep_most(self) -> None:
        shared = [queue for queue in self._all_here() if queue.drops_oldest and queue.rows.is_own]
        held = sum(queue.part.backlog.bytes for queue in shared)
        self._most = min(self._most, held)
        for queue in sorted(shared, key=lambda queue: queue.part.backlog.bytes, reverse=True):
            if held <= self._most:
                return
            before = queue.part.backlog.bytes
            if dropped := drop_bytes(queue.part, held - int(self._most)):
                self._dropped(queue, dropped, is_for_disk=True)
                queue.schedule()
            held -= before - queue.part.backlog.bytes

    def _dropped(self, queue: QueueSink, messages: int, is_for_disk: bool) -> None:
        queue.reading.unpage()
        queue.traffic.dropped += messages
        self._context.counters.add_count(DROPPED, messages)
        loss = self._losses.setdefault(queue, Loss())
        loss.messages += messages
        loss.is_for_disk = is_for_disk
        self._context.clock.wake(self._context.clock.now + SOON)

    def tidy(self) -> None:
        """Check the disk space, and report lost messages whose event is due; called once a second.

        While the disk is nearly full, durable subscriptions lose messages.
        """
        self._shrink()
        now = self._context.clock.now
        for queue, loss in list(self._losses.items()):
            if messages := loss.take_due(now):
                self._context.event("durable", _text(queue, messages, loss.is_for_disk), level="warning")
            elif now >= loss.next_event:
                del self._losses[queue]

    def _shrink(self) -> None:
        is_tight = self.is_tight = self.look()
        if is_tight != self._was_tight:
            self._was_tight = is_tight
            room = "has little space: queues must not grow" if is_tight else "has space again"
            self._context.event("queue", f"the disk of this node's queues {room}", level="warning")
        if not is_tight:
            self._most = inf
            return
        held = sum(queue.part.backlog.bytes for queue in self._all_here() if queue.drops_oldest)
        self._most = shrunk(self._most, held)
        self._keep_most()
        self._context.clock.wake(self._context.clock.now + SOON)


def _text(queue: QueueSink, messages: int, is_for_disk: bool) -> str:
    terms = queue.part.terms
    why = f"is full ({terms.max_count:,} messages or {terms.max_bytes:,} bytes)"
    if is_for_disk:
        why = "has too little disk space"
    return f"{queue.name!r} {why}: dropped its oldest messages, {messages:,} in total"
