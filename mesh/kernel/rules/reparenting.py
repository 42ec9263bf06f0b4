"""Lets this node, a slave, take another parent while its configured parent has no route to the master."""

# Law 1: only topics of whole domains, and of a rule without a condition, have another parent, and only if
# they have one master and no backup.
# Law 2: the rules of the configured parent come back with it; other nodes do not learn the adopted parent's.

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from heapq import nsmallest

from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.strata import LiveStrata
from mesh.kernel.rules.ruling import Ruling
from mesh.kernel.states.gossiping import Gossiping
from mesh.kernel.subscribers.refilling import Refilling
from mesh.mapping.backups import holders_of
from mesh.mapping.decision import Claim
from mesh.mapping.mapping import Mapping
from mesh.mapping.parents import BACK, Adopted, Candidate, Parent, Sight, review_parent, usable
from mesh.mapping.strata import closer
from mesh.reasons.reason import reason
from mesh.reasons.what import TOPIC, What
from mesh.wire.limits import FOLLOWED, HOPS
from mesh.wire.replies import Reason

CANDIDATES = 32  # nodes that are asked for their routes, the quickest ones
UNKNOWN_LOAD = 1.0


class Reparenting(Component):
    """Component that watches the routes of this node's parents, and takes other ones."""

    def __init__(
        self,
        context: NodeContext,
        mapping: Mapping,
        neighbours: Neighbours,
        nodes: Nodes,
        gossiping: Gossiping,
        strata: LiveStrata,
        refilling: Refilling,
        ruling: Ruling,
    ) -> None:
        self._context = context
        self._mapping = mapping
        self._neighbours = neighbours
        self._nodes = nodes
        self._gossiping = gossiping
        self._strata = strata
        self._refilling = refilling
        self._ruling = ruling
        self._plain = Mapping(mapping.me, (), mapping.scope)  # the configured rules
        self.parents: dict[str, Parent] = {}  # by domain

    def figures(self) -> dict[str, int | float]:
        return {"adopted_parents": sum(bool(parent.adopted) for parent in self.parents.values())}

    def on_second(self) -> None:
        """Review the parent of each domain, and apply the changes."""
        if not self._context.settings.adopts_parents:
            return
        rules = self._ruling.configured_rules()
        if not self._nodes.is_settled() or not any(
            rule.is_rest or rule.node != self._mapping.me for rule in rules
        ):
            return
        if rules != self._plain.rules:
            self._plain.set_rules(rules)
        before, self.parents = self.parents, {}
        for domain in self._plain.named_domains()[:FOLLOWED]:
            claims = self._plain.of_domain(domain, self._nodes)
            hops = self._hops(claims)
            if hops is not None and not self._plain.is_backed_domain(domain):
                self._review(domain, claims, hops, before.get(domain, Parent()))
        for domain in before.keys() - self.parents.keys():
            self._strata.follow_also(domain, ())
        adopted = {domain: parent.adopted for domain, parent in self.parents.items() if parent.adopted}
        if adopted != {domain: parent.adopted for domain, parent in before.items() if parent.adopted}:
            self._ruling.set_parents({domain: self._adopted(domain) for domain in adopted})

    def _hops(self, claims: Sequence[Claim]) -> Sequence[str] | None:
        """Return the configured next hops, the best first, or None if there is no parent to replace."""
        hops = list(dict.fromkeys(claim.node for claim in closer(self._mapping.me, claims)))
        is_single = len(holders_of(claims)) < 2
        return hops if hops and is_single else None

    def _review(self, domain: str, claims: Sequence[Claim], hops: Sequence[str], before: Parent) -> None:
        configured = next(filter(self._nodes.is_alive, hops), hops[0])
        is_lost = before.lost_since is not None or self._is_dead(before.node or configured)
        others = self._candidates() if is_lost else ()
        watched = dict.fromkeys((*hops, *filter(None, (before.adopted,)), *others))
        self._strata.follow_also(domain, tuple(watched) if is_lost or before.adopted else ())
        sight = Sight(
            configured, self._usable(domain, claims, watched), tuple(filter(self._is_dead, watched))
        )
        after = self.parents[domain] = review_parent(before, sight, self._context.clock.now)
        if after.adopted != before.adopted:
            self._report_change(domain, before, after, sight)

    def _candidates(self) -> list[str]:
        """Return the linked nodes that may have a route, the quickest ones."""
        linked = [peer for peer in self._nodes.usable() if peer.alive and (peer.control or peer.data)]
        return [
            peer.node.name
            for peer in nsmallest(CANDIDATES, linked, key=lambda peer: (peer.rtt, peer.node.name))
        ]

    def _is_dead(self, node: str) -> bool:
        peer = self._nodes.named(node)
        return peer is not None and self._nodes.is_away(peer)

    def _usable(self, domain: str, claims: Sequence[Claim], nodes: Collection[str]) -> list[Candidate]:
        """Return the nodes with a route that this node may take."""
        me = self._mapping.me
        ways = {node: way for node in nodes if (way := self._strata.way_by(domain, node)) is not None}
        known = holders_of(claims) or tuple(filter(None, (self._refilling.master_of(domain),)))
        # Without a rule, a node may say that it is the master: only the route of another node proves it.
        masters = known or {way.way[-1] for way in ways.values() if len(way.way) > 1}
        named = {node for way in ways.values() for node in way.way}
        broken = {node for node in named if self._is_dead(node) or (node in ways and not ways[node].way)}
        return [
            Candidate(node, way, self._load(node))
            for node, way in ways.items()
            if usable(me, way, masters, broken, HOPS)
        ]

    def _load(self, node: str) -> float:
        known = self._gossiping.load_of(node)
        return known[0] if known is not None else UNKNOWN_LOAD

    def _adopted(self, domain: str) -> Adopted:
        parent = self.parents[domain]
        # What is sent to a master as such counts as divided among all masters, which rules alone can name.
        is_master = parent.adopted in holders_of(self._plain.of_domain(domain, self._nodes))
        return Adopted(parent.adopted, parent.configured, is_master)

    # --- reports ------------------------------------------------------------------------------------------

    def _report_change(self, domain: str, before: Parent, after: Parent, sight: Sight) -> None:
        way = next((c.way.way for c in sight.candidates if c.node == after.node), ())
        route = " -> ".join((self._mapping.me, *way))
        if not after.adopted:
            text = f"{domain}: {after.node} is the parent again; the route is {route}"
        else:
            why = "is dead" if before.node in sight.dead else "has no route to the master"
            text = (
                f"{domain}: the parent is now {after.node}, because {before.node} {why}; the route is {route}"
            )
        peer = self._nodes.named(after.node)
        self._context.event("rules", text, peer.node if peer is not None else None)

    def explain(self, what: What) -> Iterator[Reason]:
        parent = self.parents.get(what.domain) or self.parents.get("*")
        if what.kind == TOPIC and parent is not None and parent.adopted and what.is_start:
            yield reason("ADOPTED_PARENT", node=parent.adopted, parent=parent.configured, seconds=int(BACK))
