"""The routes of the envelopes of a transaction, without effect: this node must be their only master."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from mesh.errors import PublishRefused
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.forwarding.entry_routing import EntryRouting, refusal_by
from mesh.mapping.decision import CHANGING, Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.names import OTHERS, PUTS
from mesh.remote_names import split
from mesh.wire.envelope import LOCAL_ONLY, Envelope


class JointRoutes:
    """Decides whether this node may accept the envelopes of a transaction itself."""

    def __init__(self, context: NodeContext, mapping: Mapping, routing: EntryRouting) -> None:
        self._context, self._mapping, self._routing = context, mapping, routing

    def split_by_route(self, envelope: Envelope) -> Iterator[tuple[Envelope, int]]:
        """Yield the parts of an envelope, each with the timestamp that its masters share; 0: a new one.

        Raises: PublishRefused if the messages must not be accepted here, or not now.
        """
        onward = self._routing.onward
        is_plain = self._mapping.is_plain and not envelope.to
        is_idle = not onward.holds(envelope.stream, envelope.domain)
        if envelope.flags & LOCAL_ONLY or (is_plain and is_idle) or envelope.to[:6] == PUTS:
            yield envelope, 0
            return
        if envelope.to.startswith(OTHERS):
            site, name = split(envelope.to)
            is_ours = site == self._context.settings.site.name
            envelope = replace(envelope, to=name) if is_ours else envelope
        for part, decision in self._routing.deciding.split_by_route(envelope):
            self._check(part, decision)
            yield part, self._routing.here.shared_stamp(part) if decision.is_shared else 0

    def _check(self, envelope: Envelope, decision: Decision) -> None:
        me, what = self._context.me.name, envelope.to or envelope.keys[0]
        if decision.kind is Kind.REFUSE:
            raise refusal_by(decision)
        if decision.kind is not Kind.HERE or decision.copies:
            whom = ", ".join(filter(None, decision.hops)) or "another node"
            raise PublishRefused(
                f"{me} is not the only master of {what}, but {whom}: {decision.why}.",
                hint="Publish it outside of the transaction, or run the transaction at its master.",
                code="MASTER_ELSEWHERE",
            )
        if self._routing.put_off.waits_for(envelope, decision) is not None:
            why = f"Earlier messages of this session in {envelope.domain!r} are still in transit."
            raise PublishRefused(why, hint="Await their answers first.", code=CHANGING)
