"""The routes of the envelopes of a transaction, without effect: to this node, or to other masters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.forwarding.entry_routing import EntryRouting, refusal_by
from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.names import OTHERS, PUTS
from mesh.remote_names import split
from mesh.wire.envelope import LOCAL_ONLY, Envelope


class RoutedPart(NamedTuple):
    """A part of an envelope. Without a decision, this node accepts it as its only master."""

    envelope: Envelope
    stamp: int = 0  # timestamp that its masters share; 0: a new one
    onward: Decision | None = None  # on its way to other nodes


class JointRoutes:
    """Decides where the envelopes of a transaction go."""

    def __init__(self, context: NodeContext, mapping: Mapping, routing: EntryRouting) -> None:
        self._context, self._mapping, self._routing = context, mapping, routing

    def split_by_route(self, envelope: Envelope) -> Iterator[RoutedPart]:
        """Yield the parts of an envelope. Raises: PublishRefused if no master can accept one."""
        onward = self._routing.onward
        is_plain = self._mapping.is_plain and not envelope.to
        is_idle = not onward.holds(envelope.stream, envelope.domain)
        if envelope.flags & LOCAL_ONLY or (is_plain and is_idle) or envelope.to[:6] == PUTS:
            yield RoutedPart(envelope)
            return
        if envelope.to.startswith(OTHERS):
            site, name = split(envelope.to)
            is_ours = site == self._context.settings.site.name
            envelope = replace(envelope, to=name) if is_ours else envelope
        for part, decision in self._routing.deciding.split_by_route(envelope):
            yield self._routed(part, decision)

    def _routed(self, part: Envelope, decision: Decision) -> RoutedPart:
        if decision.kind is Kind.REFUSE:
            raise refusal_by(decision)
        is_here = decision.kind is Kind.HERE and not decision.copies
        if not is_here or self._routing.put_off.waits_for(part, decision) is not None:
            return RoutedPart(part, onward=decision)
        return RoutedPart(part, self._routing.here.shared_stamp(part) if decision.is_shared else 0)
