"""Selects the nodes to ask for a query, by the rules in force and by others during a change of rules."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence

from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.routes.nodes import Nodes
from mesh.mapping.decision import Sources, Use
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.patterns import SYSTEM
from mesh.reserved import OF_USERS
from mesh.routing.interest import CLIENTS, STANDBY
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from mesh.wire.spoken import KINDS

# Law 1: queries with the same row have the same sources.
# Law 2: during a change of rules a query has the sources of all rules that may be in force somewhere.
# Law 3: no node is asked for a query of a kind that it does not know, or for its own query.


class QuerySources:
    """The sources of queries by the rules of `mapping`, and by other rules during a change."""

    def __init__(self, mapping: Mapping, nodes: Nodes, neighbours: Neighbours) -> None:
        self._mapping = mapping
        self._nodes = nodes
        self._neighbours = neighbours
        self._ways = ways_of(mapping.rules)
        self._beside: tuple[Mapping, ...] = ()  # other rules that also apply during a change

    def use_rules(self, *others: Sequence[Rule]) -> None:
        """Use `others` as well: rules that are next, or that were recently in force."""
        mapping = self._mapping
        self._beside = tuple(Mapping(mapping.me, rules, mapping.scope) for rules in others)
        self._ways = ways_of(rule for rules in (mapping.rules, *others) for rule in rules)

    @property
    def has_ways(self) -> bool:
        """True if any node may forward messages of other masters."""
        return not self._mapping.is_plain or bool(self._beside)

    @property
    def is_changing(self) -> bool:
        """True if queries follow other rules as well: during a change of rules and for a while after."""
        return bool(self._beside)

    def is_way(self, node: str) -> bool:
        """Return whether that node may forward messages of other masters."""
        return node in self._ways

    def row(self, query: Query) -> Hashable:
        """Return the key of a query's sources.

        Queries with the same key have the same sources.
        """
        if _is_own(query):
            return None
        row = self._mapping.row_of_query(query.kind, query.text, query.domain)
        if self._beside:
            row = row, *(m.row_of_query(query.kind, query.text, query.domain) for m in self._beside)
        return row if query.kind in KINDS else (query.kind, row)

    def sources(self, query: Query, use: Use = Use.SUBSCRIBE) -> Sources:
        """Return the nodes that the rules name for the query.

        Of several masters, one is chosen anew for each GET. Queries for system topics have no sources, as
        each node publishes such topics for its own clients only.
        """
        if _is_own(query):
            return Sources()
        return self._mapping.sources(query.kind, query.text, query.domain, self._nodes, use)

    def targets(self, query: Query, by: Collection[bytes], named: Sources | None = None) -> set[bytes]:
        """Return the uuids of the peers to ask for the query of the requesters `by`.

        `named` has the sources if they are known.
        """
        sources = self._with_beside(named or self.sources(query), query)
        names = sources.hops
        if STANDBY in by:
            names = (*names, *self._mapping.partners(query.kind, query.text, query.domain))
        hops = {peer.node.uuid for name in names if (peer := self._nodes.named(name)) is not None}
        if len(by) == 1:
            hops -= set(by)  # that peer would only ask this node
        if sources.everyone and CLIENTS in by:
            hops |= {peer.node.uuid for peer in self._nodes.usable()}
        if query.kind not in KINDS:
            hops = {uuid for uuid in hops if query.kind in self._neighbours.peers[uuid].speaks}
        return hops

    def possible_masters(self, query: Query) -> set[bytes]:
        """Return the uuids of all known peers that may have accepted messages for a query of clients here.

        Peers that are down are included.
        """
        sources = self._with_beside(self.sources(query), query)
        if sources.everyone:
            return set(self._neighbours.peers)
        named = set(sources.hops)
        return {uuid for uuid, peer in self._neighbours.peers.items() if peer.node.name in named}

    def hops_of(self, query: Query) -> list[bytes]:
        """Return the uuids of the nodes that the rules name for a query; () if all nodes are asked."""
        named = self._with_beside(self.sources(query), query).hops
        return [peer.node.uuid for name in named if (peer := self._nodes.named(name)) is not None]

    def is_relayed(self, query: Query) -> bool:
        """Return whether this node also fetches messages of other masters for the query."""
        return bool(self._with_beside(self.sources(query), query).hops)

    def _with_beside(self, sources: Sources, query: Query) -> Sources:
        """Return `sources`, extended by the sources that the other rules in use name."""
        if not self._beside or _is_own(query):
            return sources
        more = [m.sources(query.kind, query.text, query.domain, self._nodes) for m in self._beside]
        hops = dict.fromkeys(hop for each in (sources, *more) for hop in each.hops)
        everyone = any(each.everyone for each in (sources, *more))
        return Sources(tuple(hops), everyone, sources.masters, sources.away)

    def stands_for(self, key: str, e: Envelope) -> tuple[str, ...]:
        """Return the masters of the message if all are unreachable and this node replaces them, else none."""
        return self._mapping.stands_for(key, e, self._nodes)

    def is_reachable(self, query: Query) -> bool:
        """Return whether all sources that the rules name for the query are reachable."""
        return not self.sources(query).away


def ways_of(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the nodes that may forward messages of other masters."""
    return frozenset(node for rule in rules for node in (rule.node, rule.refid if rule.is_rest else ""))


def _is_own(query: Query) -> bool:
    """Return whether the query is for values that each node has only for its own clients."""
    return query.text.startswith(SYSTEM) and not query.text.startswith(OF_USERS)
