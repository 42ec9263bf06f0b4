"""Applies a settlement of deliveries to the part of a queue."""

from __future__ import annotations

from collections.abc import Iterable

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.consumers.remote_claim import SettledRun
from mesh.features.queues.model.envelopes.counts import Runs, count
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.kernel.context.node_context import NodeContext
from mesh.wire.commands import NACK, REJECT


def settle(
    context: NodeContext, queue: QueueSink, taker: QueueConsumer, done: Runs, entries: Iterable[SettledRun]
) -> Runs:
    """Settle deliveries, to be written with the next commit; return the tags that were not outstanding.

    Raises: RemoteError for tags that were never used.
    """
    part, before, over = queue.part, queue.part.deliveries.acked, Runs()
    for first, last in done:
        over += part.deliveries.ack(taker, first, last)
    for first, last, what, delay, reason in entries:
        if what == NACK:
            over += part.deliveries.nack(
                taker, first, last, delay / 1000, context.clock.now, context.clock.believed
            )
        elif what == REJECT:
            over += part.deliveries.reject(taker, first, last, reason)
        else:
            over += part.deliveries.extend(taker, first, last, context.clock.now + delay / 1000)
    queue.count_settled(part.deliveries.acked - before)
    queue.write_changed()
    if over:
        context.counters.add_count("settled_late", count(over))
    return over
