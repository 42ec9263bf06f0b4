"""The queues of this node: their definitions, restored messages, and acceptance of new messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import Protocol

from mesh.errors import NoQueue, QueueFull, StoreFull
from mesh.features.queues.model.consumers.queue_consumer import GRACE_TO_MOVE, QueueConsumer
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.part.queue_observer import QueueObserver
from mesh.features.queues.node.keeping.consumer_row import FIXED
from mesh.features.queues.node.keeping.dead_lettering import DeadLettering
from mesh.features.queues.node.keeping.overflow import Overflow
from mesh.features.queues.node.keeping.queue_puts import QueuePuts
from mesh.features.queues.node.keeping.queue_schedule import QueueSchedule, QueueScheduleFace
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.rows import RowsOf
from mesh.features.queues.node.keeping.spool import Spool
from mesh.kernel.context.component import Beginning, Component, Restores
from mesh.kernel.context.facts import BackupChanged, Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import PutEnvelope
from mesh.kernel.subscribers.facts import SessionAway
from mesh.names import PUTS, QUEUE, SUBS, queue_of, taken_of
from mesh.printable import count as counted
from mesh.printable import typed
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.memory import OWN, Memory
from mesh.routing.sink import AddressResolver, Targets
from mesh.snapshots.waiting import LONGEST, Waiting
from mesh.values import PRIORITY
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.limits import QUEUES

RECOVER = 5.0  # s after a start for consumers to return, if none of their clients can move


class QueueRoomFace(QueueScheduleFace, Protocol):
    """The services that `Queues` and its schedule need from the other components of this package."""

    def push(self, taker: QueueConsumer, slice_: EnvelopeSlice) -> None:
        """Send messages to a consumer."""

    def similar_name(self, name: str) -> str:
        """Return the name of a similar queue for a hint, or an empty string."""

    def was_removed(self, name: str) -> bool:
        """Return whether the queue is known to be removed."""

    def on_queue_removed(self, queue: QueueSink) -> None:
        """Clean up before the messages and consumers of a removed queue are discarded."""

    def on_queue_ended(self, queue: QueueSink) -> None:
        """Clean up after the messages and consumers of a removed queue were discarded."""


class Queues(Component):
    """The queues of this node, by name.

    `schedule` processes new, settled and dead messages at the end of the event. `others` is empty while this
    node knows no other node. `publish(envelope)` is called with each message that a client puts, immediately
    or when it is no longer held back.
    """

    def __init__(
        self,
        context: NodeContext,
        rows: RowsOf,
        memory: Memory,
        dying: DeadLettering,
        around: QueueRoomFace,
        others: Mapping[bytes, object],
        publish: Callable[[Envelope], None],
    ) -> None:
        self._context = context
        self._rows = rows
        self._overflow = Overflow(context, self.__iter__)
        self._around = around
        self._memory = memory
        self.watch: Callable[[QueueSink], QueueObserver] | None = None  # makes the observer of each part
        self._all: dict[str, QueueSink] = {}
        self._puts = QueuePuts(context.settings, self._all, publish)
        self.schedule = QueueSchedule(context, self._puts, self._overflow, dying, around, others)

    def __iter__(self) -> Iterator[QueueSink]:
        return iter(list(self._all.values()))

    def features(self) -> Sequence[str]:
        return (QUEUES,)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(SessionAway, lambda fact: self._puts.drop(fact.session.stream)),
            on_fact(BackupChanged, self._on_backup),
        )

    def _on_backup(self, fact: BackupChanged) -> None:
        for spool in self._spools():
            spool.hold(fact.is_begun)

    def _spools(self) -> list[Spool]:
        return [rows.spool for rows in self._rows if rows.spool is not None]

    def address_resolvers(self) -> Mapping[str, AddressResolver]:
        return {QUEUE: self}

    def puts(self) -> Mapping[str, PutEnvelope]:
        return {PUTS: self._puts.put}

    def holds_back(self, name: str, stream: bytes) -> bool:
        return name in self._all and self._puts.holds_back(self._all[name], stream)

    def figures(self) -> dict[str, int | float]:
        parts = [queue.part for queue in self.schedule.awake]
        every = [queue.part for queue in self._all.values()]
        return {
            "queues": len(every),
            "queue_messages": sum(part.backlog.messages for part in parts),
            "queue_bytes": sum(part.backlog.bytes for part in parts),
            "queue_out": sum(part.away for part in parts),
            "queue_consumers": sum(len(part.takers) for part in parts),
            "queue_acked": sum([part.deliveries.acked for part in every]),
            "queue_redelivered": sum([part.failures.redelivered for part in every]),
        }

    def holds(self) -> int:
        return self._memory.used

    def waiting(self, names: Collection[str]) -> Iterator[Waiting]:
        """Yield the state of the longest active queues, and of existing queues among `names`."""
        busy = [queue for queue in self.schedule.awake if queue.part.backlog.messages or queue.part.takers]
        longest = nlargest(LONGEST, busy, key=_length)
        before = [self._all.get(name.removeprefix(PUTS)) for name in names if name.startswith(PUTS)]
        # Reporting a queue costs more than selecting it, and there may be thousands.
        for queue in dict.fromkeys([*longest, *(queue for queue in before if queue is not None)]):
            yield queue.waiting()

    # --- queues of this node ----------------------------------------------------------------------------

    @property
    def stores(self) -> RowsOf:
        return self._rows

    def start(self, beginning: Beginning) -> None:
        """Read the rows, before the definitions create the queues."""
        self._overflow.look = beginning.is_tight
        for rows in self._rows:
            rows.start(beginning)

    def envelope_restorers(self) -> Mapping[str, Restores]:
        return {QUEUE: self._restore}

    def _restore(self, position: int, envelope: Envelope) -> None:
        queue = self._all.get(envelope.to.removeprefix(PUTS)) or self.taker(envelope.to)
        self._context.clock.stamped(envelope.sent)  # new messages get later timestamps
        queue.rows.restored()
        queue.add_waiting(
            queue.rows.stored(envelope, position, self._context.me.uuid), self._context.clock.now
        )

    def on_restored(self) -> None:
        """Remove the queues that are known to be removed, and the rows without a queue.

        After an accepted rollback of the store, also record that earlier deliveries are unknown.
        """
        for queue in self:
            if self._context.settings.accept_rollback:
                queue.rows.forgets(queue.name, self._context.clock.last_stamp)
            if self._around.was_removed(queue.name):  # some messages are still on disk
                self._remove(queue)
        for rows in self._rows:
            rows.forget_envelopes()
            for name in rows.queues() - self._all.keys():
                rows.delete_queue(name)

    def declared(self, name: str, terms: QueueTerms | None) -> None:
        """Apply a definition; `None` removes the queue."""
        known = self._all.get(name)
        if terms is None:
            if known is not None:
                self._remove(known)
        elif known is None:
            self._make(name, terms)
        else:
            known.declared(terms)

    def find(self, name: str) -> QueueSink | None:
        return self._all.get(name)

    def get(self, name: str) -> QueueSink:
        """Return the queue `name`. Raises: NoQueue if it is not here."""
        queue = self._all.get(name)
        if queue is None:
            hint = "See `mesh queue ls`. To declare this queue: `mesh queue create`, or declare()."
            if name.startswith(SUBS):
                durable = typed(name.removeprefix(SUBS))
                hint = f"A durable subscription creates it: `mesh sub KEY --durable {durable}`."
            elif near := self._around.similar_name(name):
                hint = f"Did you mean {near!r}?"
            raise NoQueue(f"The queue {name!r} does not exist at {self._context.me.name}.", hint=hint)
        return queue

    def shared(self, name: str) -> QueueSink:
        """Return the queue `name`. Raises: NoQueue if it is not here or has scope "node"."""
        queue = self.get(name)
        if queue.part.terms.scope == "node":
            me = self._context.me.name
            what = f'The queue {name!r} of {me} has scope "node", so other nodes cannot use it.'
            raise NoQueue(what, hint=f"Ask that node: `--url {me}`.")
        return queue

    def _make(self, name: str, terms: QueueTerms) -> QueueSink:
        rows = self._rows.rows_of(name)
        queue = QueueSink(
            self._context, rows, self._memory, name, terms, self._around.push, self.schedule.schedule_queue
        )
        if self.watch is not None:
            queue.part.backlog.watch = self.watch(queue)
        self._all[name] = queue
        expected = rows.consumers.get(name)
        if expected:
            credits = {key: row.credit for key, row in expected.items()}
            can_move = any(row.attach != FIXED for row in expected.values())
            until = self._context.clock.now + (GRACE_TO_MOVE if can_move else RECOVER)
            queue.part.consumers.recover(until, credits)
            self.schedule.set_timer(queue, until)
        return queue

    def _remove(self, queue: QueueSink) -> None:
        del self._all[queue.name]
        if lost := queue.part.backlog.messages:
            what = f"{queue.name!r}: discarded {counted(lost, 'message')}, because the queue was deleted"
            self._context.event("queue", what, level="warning")
        self.schedule.drop(queue)
        self._around.on_queue_removed(queue)
        queue.end_queue()
        self._around.on_queue_ended(queue)
        self.schedule.delete_rest(queue)
        queue.rows.delete_queue(queue.name)
        queue.write_changed()

    # --- new messages -----------------------------------------------------------------------------------

    def addressed(self, envelope: Envelope) -> tuple[list[tuple[Envelope, Targets]], int]:
        """Return the queue as the target of a published message. Raises: NoQueue, QueueFull, StoreFull."""
        name = queue_of(envelope.to)
        queue = self.get(name)
        if queue.is_full:
            start = "Start more consumers" if queue.part.takers else "Start a consumer"
            raise QueueFull(
                f"The queue {name!r} is full at {self._context.me.name}: {queue.fill_level()}.",
                hint=f"{start}, or use a queue with higher limits.",
            )
        if self.has_no_room(queue, envelope):
            raise no_room(envelope, name, self._context.me.name)
        queue.expects(envelope.put[0] if envelope.put else PRIORITY)
        return [(envelope, [(queue, None)])], 1

    def has_no_room(self, queue: QueueSink, envelope: Envelope) -> bool:
        """Return whether this node has no room for a message, apart from the limits of the queue.

        A persistent message for the node's own store needs disk space, and a transient one needs memory.
        """
        if envelope.flags & PERSISTENT:
            return self._overflow.is_tight and queue.rows.is_own
        return self._memory.is_overfull(len(envelope.body) + OWN)

    def taker(self, name: str) -> QueueSink:
        """Return the queue of a restored message, created if its definition is missing."""
        queue = taken_of(name)
        return self._all.get(queue) or self._make(queue, QueueTerms())

    # --- time -------------------------------------------------------------------------------------------

    def tick(self) -> None:
        self.schedule.tick()

    def on_second(self) -> None:
        self.schedule.on_second()
        for spool in self._spools():
            spool.retry()


def _length(queue: QueueSink) -> tuple[int, int]:
    return queue.part.backlog.messages, len(queue.part.takers)


def no_room(envelope: Envelope, queue: str, node: str) -> QueueFull | StoreFull:
    """Return the error with which a node without room refuses a message."""
    if envelope.flags & PERSISTENT:
        text = f"The disk of {node} has too little space to put messages into {queue!r}."
        return StoreFull(text, hint="Free disk space, or start a consumer.")
    text = f"The memory of {node} has no room for transient messages in {queue!r}."
    return QueueFull(text, hint="Put the message with persistent=True, or start a consumer.")
