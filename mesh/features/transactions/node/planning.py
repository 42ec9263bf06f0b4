"""Plans a transaction without effect: everything in it must be possible here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from mesh.errors import LocalError, MeshError, QueueFull, StoreFull
from mesh.features.transactions.model.outcomes import WARNING, EnvelopeOutcome
from mesh.features.transactions.wire import ACK, Settled
from mesh.flow.outstanding_deliveries import ranges_of
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import JointSettlements
from mesh.kernel.delivery.joint_acceptance import JointAcceptance, PlannedEnvelope
from mesh.kernel.forwarding.joint_forwards import JointForwards, PlannedForwards
from mesh.kernel.forwarding.joint_routes import JointRoutes
from mesh.kernel.subscribers.session import Session
from mesh.names import PUTS, QUEUE
from mesh.wire.envelope import Envelope


class Planned(Struct, eq=False):
    """A transaction that may be stored: its settlements, and the parts of its envelopes."""

    stores: set[str]  # of persistent operations; "" is the node's own
    settlements: JointSettlements | None
    parts: list[PlannedEnvelope]
    forwards: PlannedForwards
    answers: list[EnvelopeOutcome]  # to each envelope of the client


class Impossible(Exception):
    """The reason why a transaction is refused, with the index of the operation; -1: all together."""

    def __init__(self, error: MeshError, index: int) -> None:
        super().__init__(str(error))
        self.error, self.index = error, index


class Planning:
    """Plans the transactions of this node's sessions."""

    def __init__(
        self, context: NodeContext, joint: JointAcceptance, routes: JointRoutes, forwards: JointForwards
    ) -> None:
        self._context, self._joint = context, joint
        self._routes, self._forwards = routes, forwards

    def plan_transaction(
        self, session: Session, settles: Sequence[Settled], envelopes: Sequence[Envelope]
    ) -> Planned:
        """Return the plan of a transaction. Acks free capacity for its puts. Raises: Impossible."""
        settlements = self._plan_settlements(session, settles)
        named = [replace(envelope, sender=session.text) for envelope in envelopes]
        return self._plan_all(settlements, named, len(settles), self._forwards.begin())

    def plan_decided(
        self, settlements: JointSettlements | None, envelopes: Sequence[Envelope]
    ) -> tuple[Planned, list[tuple[Envelope, LocalError]]]:
        """Return the plan of a prepared transaction, and the envelopes that are refused for good.

        Raises: Impossible if there is no room for it now.
        """
        left, refused = list(envelopes), list[tuple[Envelope, LocalError]]()
        while True:
            try:
                return self._plan_all(settlements, left, 0, self._forwards.begin(has_room=True)), refused
            except Impossible as reason:
                error = reason.error
                if isinstance(error, StoreFull | QueueFull) or not isinstance(error, LocalError):
                    raise
                refused.append((left.pop(reason.index), error))

    def plan_reserved(self, envelopes: Sequence[Envelope]) -> tuple[list[PlannedEnvelope], PlannedForwards]:
        """Return the puts and forwards of a restored transaction, whose capacity is reserved."""
        parts, forwards = list[PlannedEnvelope](), self._forwards.begin(has_room=True)
        with self._joint.planning() as plan:
            for envelope in envelopes:
                with suppress(LocalError, StoreFull):
                    for part, stamp, onward in self._routes.split_by_route(envelope):
                        if onward is not None:
                            forwards.add_part(part, onward)
                        elif part.to.startswith(PUTS):
                            parts.append(plan(part, stamp))
        return parts, forwards

    def _plan_all(
        self,
        settlements: JointSettlements | None,
        envelopes: Sequence[Envelope],
        before: int,
        forwards: PlannedForwards,
    ) -> Planned:
        if settlements is not None:
            settlements.expect(-1)
        try:
            parts, answers = self._plan_envelopes(envelopes, before, forwards)
        finally:
            if settlements is not None:
                settlements.expect(+1)
        stores = forwards.stores.union(settlements.stores if settlements is not None else ())
        for part in parts:
            stores |= part.stores
        return Planned(stores, settlements, parts, forwards, answers)

    def _plan_settlements(self, session: Session, settles: Sequence[Settled]) -> JointSettlements | None:
        """Plan the settlements. A transient message of an earlier boot is gone, so it counts as settled."""
        joint = self._context.face.joint_settling.get(QUEUE)
        if joint is None or not settles:
            return None
        planned = joint.plan_settlements(session)
        for index, each in enumerate(settles):
            if each.transient and each.boot < self._context.me.boot:
                continue
            runs = list(ranges_of(each.numbers))
            try:
                planned.add_settled(each.queue, each.stream, runs, each.what == ACK, each.delay)
            except LocalError as error:
                raise Impossible(error, index) from error
        return planned

    def _plan_envelopes(
        self, envelopes: Sequence[Envelope], before: int, forwards: PlannedForwards
    ) -> tuple[list[PlannedEnvelope], list[EnvelopeOutcome]]:
        parts, answers = list[PlannedEnvelope](), list[EnvelopeOutcome]()
        with self._joint.planning() as plan:
            for index, envelope in enumerate(envelopes, before):
                matched, warning = 0, ""
                try:
                    self._check_put(envelope)
                    for part, stamp, onward in self._routes.split_by_route(envelope):
                        if onward is not None:
                            warning = forwards.add_part(part, onward)
                        else:
                            parts.append(plan(part, stamp))
                            matched = max(matched, parts[-1].matched)
                except (LocalError, StoreFull) as error:
                    raise Impossible(error, index) from error
                state = WARNING if warning else "OK"
                answers.append(EnvelopeOutcome(state, 0 if warning else matched, warning))
        return parts, answers

    def _check_put(self, envelope: Envelope) -> None:
        joint = self._context.face.joint_settling.get(QUEUE)
        if joint is not None and envelope.to[:6] == PUTS:
            joint.check_put(envelope)
