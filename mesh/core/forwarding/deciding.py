"""Which way does a message go? Found by the rules, and by what is known of other nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from mesh.core.desk.desk import Desk
from mesh.core.ways.nodes import Nodes
from mesh.mapping.decision import Decision, Kind, wait
from mesh.mapping.mapping import Mapping
from mesh.names import SessionName
from mesh.wire.envelope import FORCE_QUEUING, Envelope

TO_MASTER = 1  # stratum of a hop that sends straight to a master, on the way


class Deciding:
    """Decisions on envelopes, each for what is of one way."""

    def __init__(self, desk: Desk, mapping: Mapping, nodes: Nodes) -> None:
        self._desk = desk
        self._mapping = mapping
        self._nodes = nodes

    def runs(self, envelope: Envelope) -> Iterator[tuple[Envelope, Decision]]:
        """The envelope, cut only where ways differ."""
        if len(envelope.keys) == 1:
            yield envelope, self.decide(envelope, envelope.keys[0])
            return
        by_row = [self.decide(envelope, key) for key in envelope.keys]
        ways = [(decision.kind, decision.hops) for decision in by_row]
        if len(set(ways)) == 1:
            yield envelope, by_row[0]
            return
        start, rows = 0, envelope.rows()
        for i in range(1, envelope.count + 1):
            if i == envelope.count or ways[rows[i]] != ways[rows[start]]:
                part = envelope.part(envelope.first + start, envelope.first + i - 1)
                yield part, by_row[rows[start]]
                start = i

    def question(self, envelope: Envelope) -> Hashable:
        """The key of a decision: all that `decide` goes by, but for the view of others."""
        mapping, me, to, way = self._mapping, self._desk.me.name, envelope.to, envelope.route
        return (
            mapping.row(envelope.keys[0]),
            envelope.domain,
            envelope.stream if mapping.may_choose else b"",
            (SessionName.parse(to).node, envelope.flags & FORCE_QUEUING) if to else None,
            tuple([(hop.node, hop.stratum == TO_MASTER) for hop in way if hop.node != me]) if way else (),
        )

    def decide(self, envelope: Envelope, key: str) -> Decision:
        """The way of its messages with that key."""
        nodes, domain, of = self._nodes, envelope.domain, (envelope.stream, envelope.domain)
        route = [hop for hop in envelope.route if hop.node != self._desk.me.name]
        visited = [hop.node for hop in route]
        if not envelope.to:
            is_copy = bool(route) and route[-1].stratum == TO_MASTER
            return self._mapping.decide(key, domain, nodes, visited, of, is_copy)
        to = SessionName.parse(envelope.to)
        force = bool(envelope.flags & FORCE_QUEUING)
        decision = self._mapping.address(to, domain, nodes, visited, force, of)
        is_lost = decision.code == "UNKNOWN_NODE" or (decision.kind is Kind.WAIT and decision.node == to.node)
        if is_lost and to.node and self._nodes.ask_way(to.node):
            return wait(f"asking for the way to {to.node}", to.node)
        return decision
