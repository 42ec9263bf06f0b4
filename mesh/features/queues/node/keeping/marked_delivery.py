"""Delivers messages of a queue; persistent ones need a mark or row on disk first."""

# Law 1: no message above the mark is delivered before a higher mark is on disk. After a crash, messages above
#   the mark count as undelivered, and unsettled ones below it as delivered. A message that a selector picked
#   far from the front has a stored row instead, as its mark would cover all messages before it.
# Law 2: deliveries are sent in the order of their tags.

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf

from mesh.errors import MeshError
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.envelopes.counts import Runs, count
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.giving import deliver
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.node.keeping.rows import Rows
from mesh.kernel.context.node_context import NodeContext
from mesh.routing.envelope_slice import EnvelopeSlice

STEP = 4096  # envelopes that a new mark covers in advance
GivenSlices = deque[tuple[QueueConsumer, QueuedEnvelope, EnvelopeSlice, tuple[int, int]]]


class MarkedDelivery:
    """The delivery of messages from one local queue; `push(consumer, slice)` sends them."""

    def __init__(
        self,
        context: NodeContext,
        rows: Rows,
        name: str,
        part: LocalQueue,
        push: Callable[[QueueConsumer, EnvelopeSlice], None],
    ) -> None:
        self._context = context
        self._rows = rows
        self._name = name
        self._part = part
        self._push = push
        # Deliveries that wait for a higher mark, with their delivery tags.
        self._waiting: GivenSlices = deque()
        self._marking: GivenSlices | None = None  # deliveries whose mark is being written

    def give_out(self) -> None:
        """Assign ready messages to consumers with credit, and send each now or after its mark is on disk."""
        for taker, queued, runs in deliver(self._part, self._context.clock.now, self._context.clock.believed):
            self.goes_out(queued, runs)
            tries = queued.column(runs, self._part.terms.max_attempts)
            slice_ = EnvelopeSlice(queued.stored, queued.indices(runs), tries=tries)
            is_marked = self.is_marked(queued)
            if not is_marked and (queued in self._part.backlog.picked or queued.given is not None):
                queued.record_given(runs)
            if self._waiting or self._marking is not None or not is_marked:
                counts = taker.holding.given - count(runs) + 1, taker.holding.given
                self.lease(taker, counts, inf)
                self._waiting.append((taker, queued, slice_, counts))
            else:
                self._leaves(taker, slice_)
        if self._waiting and self._marking is None:
            self._mark()

    def _leaves(self, taker: QueueConsumer, slice_: EnvelopeSlice) -> None:
        if self._part.backlog.watch is not None:
            self._part.backlog.watch.gives(taker, slice_)
        self._push(taker, slice_)

    def goes_out(self, queued: QueuedEnvelope, runs: Runs) -> None:
        """Mark messages as possibly redelivered if a restored store may lack a record of their delivery."""
        if self._rows.may_be_forgotten(self._name, queued.key[0]):
            queued.may_have_been_given(runs)

    def drop_unsent(self, key: bytes) -> None:
        """Drop the unsent deliveries of a consumer."""
        self._waiting = deque(each for each in self._waiting if each[0].key != key)
        if self._marking is not None:
            self._marking = deque(each for each in self._marking if each[0].key != key)

    def lease(self, taker: QueueConsumer, counts: tuple[int, int], seconds: float) -> None:
        """Set the leases of the tags `counts` (first, last) to end in `seconds`, if `taker` has leases."""
        if taker.lease < inf:
            taker.holding.extend(*counts, self._context.clock.now + seconds)

    def is_marked(self, queued: QueuedEnvelope) -> bool:
        return not queued.stored.position or self._rows.is_marked(self._name, queued.priority, queued.key[0])

    def _mark(self) -> None:
        """Write the marks and rows that the waiting deliveries need; a mark may also cover later messages."""
        marks: dict[int, int] = {}
        for _, queued, *_ in self._waiting:
            if queued.given is not None:
                self._rows.write_state(self._name, queued)
            elif not self.is_marked(queued):
                marks[queued.priority] = max(queued.key[0], marks.get(queued.priority, 0))
        for priority, stamp in marks.items():
            marks[priority] = max(stamp, self._part.order.stamp_ahead(priority, STEP))
        self._marking, self._waiting = self._waiting, deque()
        self._rows.mark(self._name, marks, self._marked)

    def _marked(self, error: MeshError | None) -> None:
        given, self._marking = self._marking or deque(), None
        if error is not None:  # reported by the store; the next delivery retries
            self._waiting = given + self._waiting
            return
        while self._waiting and self.is_marked(self._waiting[0][1]):
            given.append(self._waiting.popleft())
        for taker, _, slice_, counts in given:
            self.lease(taker, counts, taker.lease)
            self._leaves(taker, slice_)
        if self._waiting:
            self._mark()

    @property
    def is_stuck(self) -> bool:
        """Whether deliveries wait although no mark is being written, because the last write failed."""
        return bool(self._waiting) and self._marking is None
