"""The part of a queue at this node, as a sink of the log: its messages are stored until they are done."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from mesh.errors import MeshError
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes.counts import Runs, joined
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.looking.rates import QueueTraffic
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.model.part.queue_consumers import HeldNumbers
from mesh.features.queues.node.keeping.marked_delivery import MarkedDelivery
from mesh.features.queues.node.keeping.reading import PartReading
from mesh.features.queues.node.keeping.rows import Rows
from mesh.kernel.context.disk import Committed
from mesh.kernel.context.node_context import NodeContext
from mesh.names import PUTS
from mesh.printable import count as counted
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.memory import Memory
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.snapshots.waiting import Waiting
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope

AHEAD = 10**9  # ns that a mark covers in advance


class QueueSink:
    """The sink for the messages of one queue.

    `push(consumer, slice)` sends messages to a consumer. `changed(queue)` schedules the queue for the end of
    the event.
    """

    owner = ""

    def __init__(
        self,
        context: NodeContext,
        rows: Rows,
        memory: Memory,
        name: str,
        terms: QueueTerms,
        push: Callable[[QueueConsumer, EnvelopeSlice], None],
        changed: Callable[[QueueSink], None],
    ) -> None:
        self.name = name
        self.key = PUTS.encode() + name.encode()
        self.floors: dict[bytes, int] = {}
        self._coming = self._coming_bytes = 0  # messages being written to disk
        self.paces = False  # the log does not pace producers
        self.part = LocalQueue(name, terms, memory)
        self.traffic = QueueTraffic()
        self._context = context
        self.rows = rows
        self._tell = changed  # schedules the queue for the end of the event
        self.giving = MarkedDelivery(context, rows, name, self.part, push)
        self.reading = PartReading(context, rows, name, self.part, self._loaded, self.schedule)
        self.is_removed = False
        self.drops_oldest = False  # instead of rejecting messages when full
        self.lost = 0  # messages that its full store did not accept, not yet reported
        self.queries: tuple[Query, ...] = ()  # of a durable subscription
        self.fresh: list[QueuedEnvelope] = []  # new, not yet distributed or delivered
        self.is_behind = False  # undistributed messages may be on disk only

    def schedule(self) -> None:
        """Schedule delivery and writing of the queue at the end of the event."""
        self._tell(self)

    def write_changed(self) -> None:
        """Write the changed states of messages to disk with the next commit."""
        backlog = self.part.backlog
        for queued in backlog.take_changed() if backlog.changed else ():
            self.rows.write_state(self.name, queued)

    def declared(self, terms: QueueTerms) -> None:
        self.part.set_terms(terms)
        self.schedule()

    @property
    def oldest(self) -> float | None:
        """The age of the oldest ready message in seconds, or `None` if none is ready."""
        first = self.part.order.oldest
        return max(0.0, (self._context.clock.believed - first) / 1e9) if first else None

    def waiting(self) -> Waiting:
        part, now = self.part, self._context.clock.now
        return Waiting(
            PUTS + self.name,
            part.backlog.messages,
            part.backlog.bytes,
            self.oldest,
            len(part.takers),
            self.traffic.arrives.value(now),
            self.traffic.leaves.value(now),
            part.failures.died,
            part.failures.redelivered,
            part.ready,
            max(0, sum(taker.room for taker in part.takers.values()) - part.ready),
            self.traffic.moved_in,
            self.traffic.moved_out,
        )

    # --- the sink of the log ----------------------------------------------------------------------------

    def alive(self, now: float) -> bool:
        return False  # never paces a producer

    @property
    def is_full(self) -> bool:
        """True if the queue is full, counting the messages that are being written to disk."""
        return self.part.backlog.is_full_with(self._coming, self._coming_bytes)

    def fill_level(self) -> str:
        """Return the messages and bytes of this queue, counted as in `is_full`, and its limits, as text."""
        has, terms = self.part.backlog, self.part.terms
        messages, size = has.messages + self._coming, has.bytes + self._coming_bytes
        limits = f"the limits are {terms.max_count:,} and {terms.max_bytes:,}"
        return f"it has {counted(messages, 'message')} with {size:,} bytes; {limits}"

    @property
    def refuses(self) -> bool:
        """True if the queue is full and rejects messages."""
        is_stuck = self.rows.spool is not None and self.rows.spool.is_stuck
        return not self.drops_oldest and (self.is_full or is_stuck)

    @property
    def may_wait(self) -> bool:
        """True if producers may wait for room: the terms allow it, and a consumer is connected."""
        is_patient = self.part.terms.when_full == "block" and not self.is_removed
        takers = self.part.takers.values()
        return is_patient and any(taker.away == inf and not taker.is_elsewhere for taker in takers)

    def expect(self, stored: StoredEnvelope, sign: int) -> None:
        self._coming += sign * stored.envelope.count
        self._coming_bytes += sign * stored.size

    def first_owed_position(self, key: str, domain: str, xml: str = "") -> float:
        return 0

    @property
    def coming(self) -> int:
        """The number of messages that are being written to disk."""
        return self._coming

    def offer(self, slice_: EnvelopeSlice, now: float) -> None:
        if self.rows.spool is not None and slice_.stored.position and not slice_.stored.is_late:
            self.rows.spool.move(self, slice_.stored)  # accepted in the node's own store
            return
        self.traffic.arrives.add(slice_.stored.envelope.count, now)
        queued = self.add_waiting(slice_.stored, now, is_new=True)
        if queued is None:
            self.is_behind = True
        else:
            self.fresh.append(queued)

    def restore(self, slice_: EnvelopeSlice, now: float) -> None:
        self.add_waiting(slice_.stored, now)

    def add_waiting(self, stored: StoredEnvelope, now: float, is_new: bool = False) -> QueuedEnvelope | None:
        """Add a stored or new envelope, and return it, or `None` if it waits on disk only.

        Consumers from before a restart have no messages of a new envelope, though `expects` marks them. An
        envelope with no message left, or of a removed queue, is deleted from disk and returned.
        """
        row, part = self.rows.take_state(self.name, stored.position), self.part
        holds = None if is_new else self.rows.settlements.holds_of(self.name, stored.envelope.stream)
        is_recovering = part.consumers.is_recovering and not is_new
        is_plain = stored.position and not row and not is_recovering and not self.is_removed
        if is_plain and holds is None and part.backlog.page_plain(stored):
            self.schedule()
            return None
        queued, is_old = QueuedEnvelope(stored), False
        if row:
            queued.restore_state(row)
        if self.is_removed:
            queued.mark_done(queued.open())
        if not queued.left:
            self.rows.write_state(self.name, queued)
            return queued
        if is_recovering and stored.position:
            is_marked, was_given = self.giving.is_marked(queued), queued.given is not None
            is_old = is_marked or was_given
            if is_marked:
                queued.given = None  # all of it may have been delivered
        self.schedule()
        if stored.position and not is_old and holds is None and part.backlog.may_page(queued):
            part.backlog.page(queued)
            return None
        part.add(queued, now, self._context.clock.believed, is_old)
        if holds is not None:
            holds.take_held(part, queued)
        return queued

    def arrive(self, queued: QueuedEnvelope) -> None:
        """Add an envelope from another node, after it is stored if it is persistent.

        If the queue was removed meanwhile, the envelope is deleted instead.
        """
        part, context = self.part, self._context
        if part.backlog.watch is not None:
            part.backlog.watch.comes(queued)
        queued.came = context.clock.now
        self.traffic.arrives.add(queued.left, context.clock.now)
        if self.is_removed:
            queued.mark_done(queued.open())
            self.rows.write_state(self.name, queued)
        elif part.backlog.may_page_moved(queued):
            part.backlog.page(queued)
        else:
            part.add(queued, context.clock.now, context.clock.believed)
        self.schedule()

    def store_redelivered(self, envelope: Envelope, then: Committed) -> None:
        """Store and add an envelope that another node may have delivered, marked as possibly redelivered.

        `then` is called with `None` when the envelope is on disk, or with the error.
        """
        queued = QueuedEnvelope(StoredEnvelope(envelope, master=self._context.me.uuid, own=True))
        queued.may_have_been_given(queued.open())
        self.expect(queued.stored, +1)

        def on_stored(error: MeshError | None) -> None:
            self.expect(queued.stored, -1)
            if error is None:
                self.arrive(queued)
            else:
                self.rows.not_arrived([queued])
            then(error)

        self.rows.store_redelivered(self.name, queued, on_stored)

    def came_back(self, queued: QueuedEnvelope, runs: Runs) -> None:
        """Make the messages of a refused move ready, or discard them if the queue was removed.

        The refusal is already on disk.
        """
        if self.is_removed:
            self.part.moving.gave_up(queued, runs)
            self.rows.write_state(self.name, queued)
        else:
            self.part.moving.came_back(queued, runs)
        self.schedule()

    def expects(self, priority: int) -> None:
        """Write a mark in advance for a new message of this priority, if the queue has consumers.

        Nothing is written while messages of this priority wait on disk only, or while an earlier mark covers
        the next half of `AHEAD`.
        """
        soon, part = self._context.clock.last_stamp + AHEAD, self.part
        if not part.takers or part.order.on_disk.has(priority):
            return
        if not self.rows.is_coming(self.name, priority, soon - AHEAD // 2):
            self.rows.mark(self.name, {priority: soon}, lambda error: None)

    def end_queue(self) -> None:
        """Remove the consumers and messages of a removed queue; messages being written follow later."""
        self.is_removed = True
        self.part.end_queue()

    # --- consumers --------------------------------------------------------------------------------------

    def add_consumer(self, taker: QueueConsumer, held: HeldNumbers) -> Runs:
        """Register a consumer; see `QueueConsumers.add_consumer`."""
        self.giving.drop_unsent(taker.key)
        void = joined(self.part.consumers.add_consumer(taker, held))
        if taker.holding.given:
            self.giving.lease(taker, (1, taker.holding.given), taker.lease)
        self.schedule()
        return void

    def away(self, taker: QueueConsumer, now: float) -> None:
        """Record that the session of a consumer is disconnected, possibly for a short time."""
        taker.away = now
        self.giving.drop_unsent(taker.key)
        self.schedule()

    def close(self, taker: QueueConsumer, begun: float) -> None:
        """Remove a consumer; see `QueueConsumers.close`."""
        self.giving.drop_unsent(taker.key)
        self.part.consumers.close(taker, begun)
        self.schedule()

    def count_settled(self, n: int) -> None:
        self.traffic.count_settled(n, self._context.clock.now)
        self.schedule()

    # --- disk reads -------------------------------------------------------------------------------------

    def _loaded(self, envelopes: list[QueuedEnvelope]) -> None:
        """Add envelopes read from disk to `fresh`, if undistributed messages may have been on disk only."""
        if self.is_behind:
            self.fresh += [queued for queued in envelopes if queued.ready]
            self.is_behind = bool(self.part.order.on_disk)
