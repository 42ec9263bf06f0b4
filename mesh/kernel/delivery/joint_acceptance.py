"""Accepts several envelopes as their master: all of them in one commit, or none."""

# Law 1: a plan has no effect. It counts what earlier envelopes of the plan add to queues and inboxes.
# Law 2: all envelopes are delivered in the event in which their commit ends, transient ones included.
# Law 3: if the commit fails, all envelopes are refused, and their numbers are never accepted.

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from mesh.errors import MeshError, StaleSequence
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.deliveries import expect
from mesh.kernel.delivery.durable_bindings import Answered
from mesh.kernel.delivery.envelope_check import EnvelopeCheck
from mesh.kernel.delivery.facts import EnvelopeAccepted
from mesh.kernel.delivery.router import Router
from mesh.operations import Op
from mesh.routing.sink import Targets
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.stream_log import Accepted, StreamLog
from mesh.wire.envelope import Envelope

Pieces = list[tuple[Envelope, Targets]]


class PlannedEnvelope(Struct, eq=False):
    """An envelope that this node may accept, with its copies and receivers."""

    lane: StreamLog
    envelope: Envelope
    pieces: Pieces
    matched: int

    @property
    def stores(self) -> set[str]:
        """The store that gets the envelope or its copies, unless all are transient."""
        is_stored = self.envelope.persistent or self.pieces[-1][0].persistent
        return {self.lane.shelf.store} if is_stored else set()


class JointAcceptance:
    """The acceptance of transactions at this node, in three steps: plan, store, deliver."""

    def __init__(self, context: NodeContext, router: Router) -> None:
        self._context, self._router, self._log = context, router, router.log
        self._check = EnvelopeCheck(context.me.name).check_envelope

    @contextmanager
    def planning(self) -> Iterator[Callable[[Envelope, int], PlannedEnvelope]]:
        """Yield the function that plans an envelope with its timestamp (0: a new one).

        It raises LocalError or StoreFull if the envelope would be refused. At the end of the block the plan
        no longer counts.
        """
        counted: list[Pieces] = []

        def plan(envelope: Envelope, stamp: int) -> PlannedEnvelope:
            planned = self._plan_envelope(envelope, stamp)
            counted.append(planned.pieces)
            _count(planned.pieces, +1)
            return planned

        try:
            yield plan
        finally:
            for pieces in counted:
                _count(pieces, -1)

    def _plan_envelope(self, envelope: Envelope, stamp: int) -> PlannedEnvelope:
        context = self._context
        self._check(envelope)
        lane = self._log.lane(envelope.stream, envelope.domain, context.clock.now)
        if not lane.origin.is_new(envelope.first, envelope.last):
            what = f"{context.me.name} has already answered messages of the transaction."
            raise StaleSequence(what, hint="Begin the transaction again.")
        stamp = stamp or lane.stamp_numbers(envelope, context.clock.stamp())
        stamped = envelope.mastered(stamp, context.hop(0))
        pieces, matched = self._router.receivers.pieces(envelope, stamped)
        return PlannedEnvelope(lane, envelope, pieces, matched)

    def store(
        self,
        planned: Sequence[PlannedEnvelope],
        ops: Iterable[Op],
        disk: Disk,
        source: Hashable,
        answered: Answered,
        landed: Callable[[MeshError | None], None],
    ) -> None:
        """Accept the planned envelopes, with `ops`, in one commit.

        `landed` is called in the event that delivers or refuses all of them. `answered` is called for each
        envelope, possibly later if receivers lag behind.
        """
        every, accepted = list(ops), list[tuple[StreamLog, Accepted]]()
        disk.shelf.supersede(every)
        for each in planned:
            one, more = self._accept(each)
            accepted.append((each.lane, one))
            every += more

        def stored(error: MeshError | None) -> None:
            with disk.together():
                for lane, one in accepted:
                    self._router.on_committed(lane, one, source, answered, error)
                landed(error)

        disk.commit(every, stored)

    def _accept(self, planned: PlannedEnvelope) -> tuple[Accepted, list[Op]]:
        lane, envelope, context = planned.lane, planned.envelope, self._context
        lane.origin.accept_numbers(envelope.first, envelope.last, envelope.low)
        context.counters.add_count("published", envelope.count)
        accepted, ops = self._log.accept_envelope(lane, planned.pieces, planned.matched, context.me.uuid)
        if accepted.stored:  # transient, so it waits for the others
            accepted.stored = False
            if not lane.waiting or lane.waiting[-1] is not accepted:
                lane.waiting.append(accepted)
        if context.facts.watched:
            context.facts.publish_fact(EnvelopeAccepted(planned.pieces))
        if not envelope.to:
            self._router.busy.count_messages(envelope)
        if envelope.to or len(planned.pieces) > 1:
            expect(accepted, +1)
        return accepted, ops

    def refuse(self, envelopes: Iterable[Envelope]) -> None:
        """Refuse the numbers of envelopes for good, with the next commit."""
        for e in envelopes:
            self._context.counters.add_count("refused", e.count)
            self._log.give_up(e, e.first, e.last, self._context.clock.now)


def _count(pieces: Pieces, sign: int) -> None:
    for piece, targets in pieces:
        for sink, _ in targets:
            sink.expect(StoredEnvelope(piece), sign)
