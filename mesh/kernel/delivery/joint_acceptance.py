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
from mesh.operations import Append, Op, Put
from mesh.routing.branches import HiddenOps
from mesh.routing.log import stream_key
from mesh.routing.retained_value import last_values
from mesh.routing.sink import Targets
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.stream_log import Accepted, StreamLog
from mesh.streams.origin import OriginStream
from mesh.wire.envelope import Envelope

Pieces = list[tuple[Envelope, Targets]]
AcceptedEnvelope = tuple[StreamLog, Accepted]


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
        own = list(ops)
        disk.shelf.supersede(own)
        accepted, more = self.accept(planned)

        def stored(error: MeshError | None) -> None:
            with disk.together():
                self.land(accepted, source, answered, error)
                landed(error)

        disk.commit([*own, *more], stored)

    def accept(self, planned: Iterable[PlannedEnvelope]) -> tuple[list[AcceptedEnvelope], list[Op]]:
        """Accept the planned envelopes, and return the operations that store them; `land` delivers them."""
        accepted, ops = list[AcceptedEnvelope](), list[Op]()
        for each in planned:
            one, more = self._accept(each)
            accepted.append((each.lane, one))
            ops += more
        return accepted, ops

    def land(
        self,
        accepted: Iterable[AcceptedEnvelope],
        source: Hashable,
        answered: Answered,
        error: MeshError | None,
    ) -> None:
        """Deliver accepted envelopes, which are stored; or refuse them."""
        for lane, one in accepted:
            self._router.on_committed(lane, one, source, answered, error)

    def expect(self, planned: Iterable[PlannedEnvelope], sign: int) -> None:
        """Reserve capacity for planned envelopes that are accepted later (`sign` +1), or release it (-1)."""
        for each in planned:
            _count(each.pieces, sign)

    def hide(self, planned: Iterable[PlannedEnvelope]) -> HiddenOps:
        """Return what `accept` will store of planned envelopes, without effect."""
        envelopes, rows = list[tuple[bytes, bytes]](), dict[tuple[str, bytes], bytes]()
        origins: dict[bytes, OriginStream] = {}
        for each in planned:
            e, key = each.pieces[0][0], stream_key(each.envelope)
            origin = origins.get(key) or each.lane.origin.unpack(each.lane.origin.pack())
            origin.accept_numbers(e.first, e.last, e.low)
            rows["stream", key] = (origins.setdefault(key, origin)).pack()
            stored = [piece for piece, targets in each.pieces if targets and piece.persistent]
            envelopes += [(piece.header(), piece.body) for piece in stored]
            for op in self._value_rows(e):
                rows[op.table, op.key] = op.value
        return HiddenOps(tuple(envelopes), tuple((*row, value) for row, value in rows.items()))

    def _value_rows(self, e: Envelope) -> list[Put]:
        if not e.persistent or e.to:
            return []
        rows = [Put("retained", value.store_key, value.pack()) for value in last_values(e)]
        return rows + self._log.histories.puts(self._log.histories.select_kept(e))

    def forget_positions(self, accepted: Iterable[AcceptedEnvelope]) -> None:
        """Release the positions of accepted envelopes whose commit has failed, before `append_again`."""
        for lane, one in accepted:
            for stored, _ in one.deliveries:
                if stored.position:
                    lane.shelf.drop_position(stored.position)

    def append_again(self, accepted: Iterable[AcceptedEnvelope], ops: Iterable[Op]) -> list[Op]:
        """Return the operations of a failed commit of accepted envelopes, with new positions."""
        appended = iter(
            [
                lane.shelf.append_envelope(stored, targets)
                for lane, one in accepted
                for stored, targets in one.deliveries
                if stored.position
            ]
        )
        return [next(appended) if isinstance(op, Append) else op for op in ops]

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
