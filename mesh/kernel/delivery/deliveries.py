"""Delivers accepted envelopes to their receivers, after their commits and in the order of each publisher."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from mesh.errors import MeshError, StoreFull
from mesh.hops import leg_of
from mesh.kernel.context.disks import Disks
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.durable_bindings import Answered
from mesh.kernel.delivery.joining import Joining
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.log import Log
from mesh.routing.merging import Merging
from mesh.routing.pacing import Pacing
from mesh.routing.sink import Sink, Targets
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.stream_log import Accepted, StreamLog
from mesh.routing.verdict import refusal
from mesh.streams.multi_path_stream import MultiPathStream
from mesh.wire.commands import Answer

# Law 1: a stored envelope is delivered and answered after its commit, and after earlier ones of its stream.
# Law 2: an envelope whose commit failed is refused in the same order, and is delivered to no sink.
# Law 3: the answer to an envelope is sent to each source that has sent the envelope so far.


class Deliveries:
    """The deliveries of one node: of its own log, and of items of other masters."""

    def __init__(self, context: NodeContext, log: Log, disks: Disks, merging: Merging) -> None:
        self._context = context
        self._log = log
        self._disk, self._disks = disks.own, disks
        self._merging = merging
        self.pacing = Pacing()
        self.joining = Joining()

    def on_committed(
        self,
        lane: StreamLog,
        accepted: Accepted,
        source: Hashable,
        answered: Answered,
        error: MeshError | None,
    ) -> None:
        """Deliver an envelope after its commit, or refuse it if the commit failed."""
        if error is None:
            lane.refusals_before(accepted)
            self._passes(lane, accepted, lambda: self.deliver(accepted, source, answered))
            return
        answer = refusal(accepted.envelope, error)
        self._log.refuse_accepted(lane, accepted)
        if isinstance(lane.origin, MultiPathStream):  # the node that keeps it resends it
            self._put_off(lane.origin, accepted)
        if len(accepted.deliveries) > 1 or accepted.envelope.to:
            expect(accepted, -1)
        self._context.counters.add_count("refused", accepted.envelope.count)
        accepted.is_refused, accepted.when_first = True, lambda: _all_of(accepted, answered)(answer)
        if isinstance(error, StoreFull):
            # The refusal is stored first: if a crash lost it, the message could be accepted after later ones.
            disk = self._disks[lane.shelf.store]
            disk.commit((), lambda _: self._passes(lane, accepted, accepted.when_first))
        else:  # the store has failed
            self._passes(lane, accepted, accepted.when_first)

    def _put_off(self, origin: MultiPathStream, accepted: Accepted) -> None:
        """Defer the messages of a failed commit, so that their site sends them again."""
        e = accepted.envelope
        if e.to:  # a refused direct message is not resent
            return
        origin.defer_leg(leg_of(e.route), e.first, self._context.clock.now)
        for stored, targets in accepted.deliveries:
            for taker, indices in targets:
                if not taker.owner:
                    self._merging.forget_messages(stored.envelope, indices)

    def _passes(self, lane: StreamLog, accepted: Accepted, when_first: Callable[[], None]) -> None:
        """Record the outcome of an envelope, and apply the next outcomes in the publisher's order."""
        accepted.stored, accepted.when_first = True, when_first
        while lane.waiting and lane.waiting[0].stored:
            lane.waiting.popleft().when_first()

    def deliver(self, accepted: Accepted, source: Hashable, answered: Answered) -> None:
        if self._log.passes(accepted):
            answered = self._when_written(answered)
        if len(accepted.deliveries) > 1 or accepted.envelope.to:
            expect(accepted, -1)
        if not any(targets for _, targets in accepted.deliveries):
            self._context.counters.add_count("unrouted", accepted.envelope.count)
        if accepted.also is not None:
            answered = _all_of(accepted, answered)
        self.offer_all(accepted.deliveries, source, lambda: answered(accepted.answer))

    def _when_written(self, answered: Answered) -> Answered:
        """Return a handler that answers after the next commit, which stores this message's records."""
        return lambda answer: self._disk.commit((), lambda error: answered(answer))

    def offer_all(
        self, deliveries: list[tuple[StoredEnvelope, Targets]], source: Hashable, done: Callable[[], None]
    ) -> None:
        waiting: list[tuple[Sink, EnvelopeSlice]] = []
        for stored, targets in deliveries:
            if self.joining:
                self.joining.record_targets(stored.envelope, targets)
            for taker, indices in targets:
                slice_ = EnvelopeSlice(stored, indices)
                taker.offer(slice_, self._context.clock.now)
                if slice_.waiting and taker.paces:
                    waiting.append((taker, slice_))
        self.pacing.release_after(source, waiting, done)


def expect(accepted: Accepted, sign: int) -> None:
    """Count an envelope at its sinks while it is written: `sign` is +1 before the write, -1 after it.

    A burst would otherwise exceed the limits of the sinks before it is on disk.
    """
    for stored, targets in accepted.deliveries:
        for taker, _ in targets:
            taker.expect(stored, sign)


def _all_of(accepted: Accepted, answered: Answered) -> Answered:
    """Return a handler that passes the answer to every source that sent the envelope."""

    def tell(answer: Answer) -> None:
        for each in (answered, *(accepted.also or ())):
            each(answer)

    return tell
