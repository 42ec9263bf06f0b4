"""Holds deliveries of this node's queues for transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mesh.errors import LeaseOver, LocalError, QueueFull
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.envelopes.counts import joined
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.held_settlements import (
    HeldSettlement,
    HeldSettlements,
    OutstandingIndex,
    freed,
)
from mesh.features.queues.node.keeping.consumer_table import ConsumerTable
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.keeping.restored_holds import RestoredHolds
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import JointSettling
from mesh.names import PUTS, QUEUE
from mesh.operations import Put
from mesh.routing.stored_envelope import StoredEnvelope, nameless
from mesh.wire.envelope import Envelope

COST = 64  # bytes that a stored envelope counts for each message, besides its body


class HeldDeliveries(Component):
    """Plans the settlements of transactions of this node's sessions."""

    def __init__(self, context: NodeContext, queues: Queues, taking: ConsumerTable) -> None:
        self._context, self._queues, self._taking = context, queues, taking
        self._under_way: dict[bytes, int] = {}  # transactions by key of a consumer

    def is_landing(self, consumer: bytes) -> bool:
        """Return whether a transaction under way, which is not prepared, holds deliveries of a consumer."""
        return consumer in self._under_way

    def count_held(self, consumers: Iterable[bytes], sign: int) -> None:
        """Count a transaction that holds deliveries of `consumers` (+1), or no longer does (-1)."""
        for key in consumers:
            self._under_way[key] = left = self._under_way.get(key, 0) + sign
            assert left >= 0, "a transaction lands once"
            if not left:
                del self._under_way[key]

    def joint_settling(self) -> Mapping[str, JointSettling]:
        return {QUEUE: self}

    def plan_settlements(self, session: Any) -> QueueSettlements:
        ours: dict[str, tuple[QueueSink, list[QueueConsumer]]] = {}  # by queue
        for queue, taker in self._taking.consumers_of(session):
            ours.setdefault(queue.name, (queue, []))[1].append(taker)
        return QueueSettlements(self._context, ours, self.count_held)

    def hold_restored(
        self, transaction: bytes, queue: str, stream: bytes, runs: Sequence[tuple[int, int]]
    ) -> None:
        holds = self._queues.stores.rows_of(queue).settlements.holds
        holds.setdefault(queue, RestoredHolds()).add_held(transaction, stream, runs)

    def restored_settlements(self, transaction: bytes) -> QueueSettlements:
        ours: dict[str, tuple[QueueSink, list[QueueConsumer]]] = {}
        for queue in self._queues:
            holds = queue.rows.settlements.holds.get(queue.name)
            if holds is not None and transaction in holds.takers:
                ours[queue.name] = queue, [holds.takers[transaction]]
        return QueueSettlements(self._context, ours, self.count_held)

    def keep_queue(self, name: str, sign: int) -> None:
        self._queues.stores.rows_of(name).settlements.awaited[name] += sign

    def check_put(self, envelope: Envelope) -> None:
        """Raise QueueFull if earlier puts of the stream wait until the queue has room."""
        name = envelope.to.removeprefix(PUTS)
        if self._queues.holds_back(name, envelope.stream):
            what = f"Earlier messages of this session wait until the queue {name!r} has room."
            raise QueueFull(what, hint="Await their answers first.")


class QueueSettlements:
    """The settlements of one transaction: see JointSettlements."""

    def __init__(
        self,
        context: NodeContext,
        ours: dict[str, tuple[QueueSink, list[QueueConsumer]]],
        count_held: Callable[[Iterable[bytes], int], None],
    ) -> None:
        """Create settlements of deliveries to consumers, which `ours` has by queue.

        `count_held` gets the consumers whose deliveries are held (+1), and no longer held (-1).
        """
        self._context, self._ours, self._count_held = context, ours, count_held
        self._consumers: set[bytes] = set()  # while the transaction is under way
        self._indices: dict[str, OutstandingIndex] = {}
        self._planned: dict[QueueSink, list[HeldSettlement]] = {}
        self._acked: dict[QueueSink, list[tuple[QueuedEnvelope, int]]] = {}
        self._held: list[tuple[QueueSink, HeldSettlements, list[Put]]] = []
        self.stores = set[str]()

    def add_settled(
        self, queue: str, stream: bytes, runs: Sequence[tuple[int, int]], is_ack: bool, delay: int
    ) -> None:
        if queue not in self._ours:
            raise _over(queue)
        sink, takers = self._ours[queue]
        index = self._indices.get(queue)
        if index is None:
            index = self._indices[queue] = OutstandingIndex(takers)
        tags: dict[QueueConsumer, list[int]] = {}
        for number in (n for first, last in runs for n in range(first, last + 1)):
            found = index.take(stream, number)
            if found is None:
                raise _over(queue)
            taker, tag, queued = found
            self._check_durable(sink, queued)
            tags.setdefault(taker, []).append(tag)
            if queued.stored.position and not sink.rows.is_volatile:
                self.stores.add(sink.rows.store)
            if is_ack:
                self._acked.setdefault(sink, []).append((queued, 1))
        planned = self._planned.setdefault(sink, [])
        for taker, each in tags.items():
            planned += [HeldSettlement(taker, a, b, is_ack, delay) for a, b in joined(sorted(each))]

    def _check_durable(self, sink: QueueSink, queued: QueuedEnvelope) -> None:
        if not queued.stored.position and queued in sink.part.backlog.pledges.open:
            what = f"Another node keeps a message of the queue {sink.name!r} until it is done here."
            raise LocalError(what, hint="Ack it outside of the transaction.", code="NOT_DURABLE")

    def expect(self, sign: int) -> None:
        for sink, acked in self._acked.items():
            messages, size = freed(acked)
            sink.expect(StoredEnvelope(nameless(messages), lacks=size - COST * messages), sign)

    def hold(self, is_prepared: bool = False) -> None:
        if not is_prepared:
            self._consumers = {each.taker.key for planned in self._planned.values() for each in planned}
            self._count_held(self._consumers, +1)
        for sink, planned in self._planned.items():
            held = HeldSettlements(sink.part, planned)
            held.hold()
            self._held.append((sink, held, []))

    def rows(self) -> Mapping[str, list[Put]]:
        ops: dict[str, list[Put]] = {}
        for sink, held, puts in self._held:
            # A store in memory needs no rows, since no start reads them.
            rows = () if sink.rows.is_volatile else held.rows(self._context.clock.believed)
            puts[:] = sink.rows.settlements.puts(sink.name, rows)
            ops.setdefault(sink.rows.store, []).extend(puts)
        return ops

    def land(self) -> None:
        now, wall = self._context.clock.now, self._context.clock.believed
        for sink, held, ops in self._held:
            sink.count_settled(held.land(now, wall, sink.is_removed))
            sink.write_changed()
            sink.rows.settlements.delete(ops)
        self._end()

    def give_back(self, to_consumers: bool = True) -> None:
        for sink, held, _ in self._held:
            held.give_back(sink.is_removed, to_consumers)
            sink.schedule()
        self._end()

    def _end(self) -> None:
        self._held.clear()
        consumers, self._consumers = self._consumers, set()
        self._count_held(consumers, -1)


def _over(queue: str) -> LeaseOver:
    return LeaseOver(
        f"A message of the queue {queue!r} is no longer this session's: its lease or its consumer has ended.",
        hint="It may be redelivered. Begin the transaction again with its next delivery.",
    )
