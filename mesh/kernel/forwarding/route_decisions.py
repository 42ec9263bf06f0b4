"""Decides the route of an envelope by the rules and the state of other nodes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator

from mesh.errors import NotAvailable
from mesh.hops import inside, is_foreign
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.routes.nodes import Nodes
from mesh.mapping.claims import FilterResults
from mesh.mapping.decision import ASKING, CHANGING, Decision, Kind, refuse, wait
from mesh.mapping.filter_input import FilterInput
from mesh.mapping.mapping import Mapping
from mesh.names import SessionName
from mesh.remote_names import WAY
from mesh.wire.envelope import FORCE_QUEUING, ONE_SESSION, Envelope
from mesh.wire.limits import DIRECT

CIRCULAR = "CIRCULAR_LOOP"
UNKNOWN = "UNKNOWN_NODE"
OLDER = NotAvailable.code
TO_MASTER = 1  # stratum of a hop that sends directly to a master
UNASKED: FilterResults = ()
REMEMBERED = 10_000  # decisions on messages of local clients


class RouteDecisions:
    """Decisions on envelopes, each for messages with the same route."""

    def __init__(self, context: NodeContext, mapping: Mapping, nodes: Nodes) -> None:
        self._context = context
        self._mapping = mapping
        self._nodes = nodes
        self.holds_until = 0.0  # until then a loop is not final
        self._known: dict[Hashable, Decision] = {}  # until nodes or rules change

    def drop_all(self) -> None:
        """Drop all decisions, as nodes or rules have changed."""
        self._known.clear()

    def split_by_route(self, envelope: Envelope) -> Iterator[tuple[Envelope, Decision]]:
        """Yield the envelope with its decision, split where routes differ or may differ later."""
        if self._mapping.has_filters and self._looks_inside(envelope):
            yield from self._runs_by_content(envelope)
            return
        if len(envelope.keys) == 1:
            yield envelope, self.decide(envelope)
            return
        by_row = [self._decide(envelope, key, UNASKED) for key in envelope.keys]
        ways: list[Hashable] = [(decision.kind, decision.hops) for decision in by_row]
        if self._mapping.has_backups or self._mapping.may_choose:  # routes may differ without the next hop
            keys, domain, xml = envelope.keys, envelope.domain, envelope.xml
            ways = [(way, self._mapping.row(key, domain, xml)) for way, key in zip(ways, keys, strict=True)]
        if len(set(ways)) == 1:
            yield envelope, by_row[0]
            return
        start, rows = 0, envelope.rows()
        for i in range(1, envelope.count + 1):
            if i == envelope.count or ways[rows[i]] != ways[rows[start]]:
                part = envelope.part(envelope.first + start, envelope.first + i - 1)
                yield part, by_row[rows[start]]
                start = i

    def may_split(self, envelope: Envelope) -> bool:
        """Return whether messages of the envelope may have different routes."""
        return not envelope.to and (len(envelope.keys) > 1 or self._mapping.has_filters)

    def _looks_inside(self, envelope: Envelope) -> bool:
        is_own = not self._visited(envelope)
        domain, xml = envelope.domain, envelope.xml
        return any(self._mapping.looks_inside(key, domain, xml, is_own) for key in envelope.keys)

    def _runs_by_content(self, envelope: Envelope) -> Iterator[tuple[Envelope, Decision]]:
        """Yield each run of messages with equal key and filter results, with its decision.

        A run can later be decided again from its first message alone.
        """
        rows = envelope.rows()
        asked = [(envelope.keys[rows[i]], self._held(envelope, i)) for i in range(envelope.count)]
        start = 0
        for i in range(1, envelope.count + 1):
            if i == envelope.count or asked[i] != asked[start]:
                part = envelope.part(envelope.first + start, envelope.first + i - 1)
                yield part, self._decide(part, *asked[start])
                start = i

    def _held(self, envelope: Envelope, i: int) -> FilterResults:
        return self._mapping.held(FilterInput(envelope, i))

    def _held_by_first(self, envelope: Envelope) -> FilterResults:
        """Return the filter results of an envelope that was split by them, from its first message.

        The caller has checked that there are filters.
        """
        return self._held(envelope, 0) if self._looks_inside(envelope) else UNASKED

    def is_only_here(self, envelope: Envelope) -> bool:
        """Return whether the envelope was sent directly to this node, which is to accept it alone."""
        route = inside(envelope.route)
        return bool(route and route[-1].stratum == TO_MASTER) and all(
            decision.kind is Kind.HERE and not decision.copies
            for _, decision in self.split_by_route(envelope)
        )

    def question(self, envelope: Envelope) -> Hashable:
        """Return the cache key of a decision: its inputs except the state of other nodes."""
        mapping, me, to, way = self._mapping, self._context.me.name, envelope.to, inside(envelope.route)
        return (
            mapping.row(envelope.keys[0], envelope.domain, envelope.xml),
            envelope.domain,
            envelope.stream if mapping.may_choose else b"",
            self._addressee(envelope) if to else None,
            tuple([(hop.node, hop.stratum == TO_MASTER) for hop in way if hop.node != me]) if way else (),
            self._held_by_first(envelope) if mapping.has_filters else UNASKED,
        )

    def _addressee(self, envelope: Envelope) -> Hashable:
        to = SessionName.parse(envelope.to)
        return to.site, to.node, envelope.flags & (FORCE_QUEUING | ONE_SESSION), is_foreign(envelope.sender)

    def decide(self, envelope: Envelope) -> Decision:
        """Return the decision on an envelope whose messages all have the same route."""
        held = self._held_by_first(envelope) if self._mapping.has_filters else UNASKED
        return self._decide(envelope, envelope.keys[0], held)

    def _visited(self, envelope: Envelope) -> list[str]:
        return [hop.node for hop in inside(envelope.route) if hop.node != self._context.me.name]

    def _decide(self, envelope: Envelope, key: str, held: FilterResults) -> Decision:
        if envelope.route or envelope.to or self._mapping.may_choose:
            return self._decided(envelope, key, held)
        at = self._mapping.row(key, envelope.domain, envelope.xml), envelope.domain, held
        decision = self._known.get(at)
        if decision is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            decision = self._known[at] = self._decided(envelope, key, held)
        return decision

    def _decided(self, envelope: Envelope, key: str, held: FilterResults) -> Decision:
        nodes, domain, of = self._nodes, envelope.domain, (envelope.stream, envelope.domain)
        route = [hop for hop in inside(envelope.route) if hop.node != self._context.me.name]
        visited = [hop.node for hop in route]
        if not envelope.to:
            is_copy = bool(route) and route[-1].stratum == TO_MASTER
            decision = self._mapping.decide(key, domain, nodes, visited, of, is_copy, envelope.xml, held)
            if decision.code == CIRCULAR and self._context.clock.now < self.holds_until:
                return wait(f"rules are changing: {decision.why}", code=CHANGING)
            return decision
        return self._addressed(envelope, visited, of)

    def _addressed(self, envelope: Envelope, visited: Collection[str], of: Hashable) -> Decision:
        nodes, domain = self._nodes, envelope.domain
        to = SessionName.parse(envelope.to)
        if to.site and envelope.flags & ONE_SESSION:
            return refuse("other sites do not support delivery to one session", "", OLDER)
        force, came = bool(envelope.flags & FORCE_QUEUING), is_foreign(envelope.sender)
        if to.site:
            return (
                self._context.face.next_hops[WAY].decide(to.site, force)
                if not came
                else refuse(
                    f"the message came from another site, and is not sent on to {to.site}", "", CIRCULAR
                )
            )
        decision = self._mapping.address(to, domain, nodes, visited, force, of)
        is_lost = decision.code == UNKNOWN or (decision.kind is Kind.WAIT and decision.node == to.node)
        if is_lost and to.node and self._nodes.ask_way(to.node):
            return wait(f"asking for the route to {to.node}", to.node, code=ASKING)
        if envelope.flags & ONE_SESSION and decision.kind is Kind.FORWARD and self._is_older(decision.node):
            return refuse(
                f"node {decision.node} runs an earlier release, without delivery to one session", "", OLDER
            )
        if came and not force and decision.kind is Kind.WAIT and nodes.is_settled():
            return refuse(
                f"node {to.node} cannot be reached from {self._context.me.name}", to.node or "", UNKNOWN
            )
        return decision

    def _is_older(self, node: str) -> bool:
        """Return whether the node is linked and lacks delivery to one session of a client."""
        peer = self._nodes.named(node)
        return peer is not None and peer.data is not None and DIRECT not in peer.data.speaks
