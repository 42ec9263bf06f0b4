"""The mapping: computes the master of a message, and the next hop, from the rules."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import chain

from mesh.mapping.backups import all_masters, counting, holders_of, masters_of
from mesh.mapping.choice import Together, choose, circle, divide, if_enough, parents_of, stand_in
from mesh.mapping.claims import Claims, FilterResults
from mesh.mapping.decision import Claim, Decision, Kind, NodesView, Sources, Use, forward, here, refuse, wait
from mesh.mapping.filter_input import FilterInput
from mesh.mapping.filters import FilteredMessage
from mesh.mapping.rules import ANY_DOMAIN, DOMAIN, Rule, has_key_rules, has_rivals, has_several
from mesh.mapping.strata import closer
from mesh.names import SessionName
from mesh.patterns import SYSTEM
from mesh.reserved import is_own_domain
from mesh.wire.envelope import Envelope

# Law 1: the most specific rules decide alone, by the order of `KINDS` in rules.py.
# Law 2: a message goes to a lower stratum than this node's own, or stays.
# Law 3: a message never returns to a node where it has been.
# Law 4: a message is never lost silently: it stays here, is forwarded, waits for a node, or is refused.
# Law 5: if several nodes are masters, the first node that sends to masters directly, or is one, sends a copy
# to each. A master keeps such a copy and does not divide it again.
# Law 6: the laws of backups.py decide when a backup is master.


class Mapping:
    """The rules as one node applies them.

    `scope` applies to messages that no rule names. With "mesh" each node is master of its own clients'
    messages. With "local" this node accepts messages without a domain, unless its rules exclude them, and all
    other messages wait.
    """

    def __init__(self, me: str, rules: Sequence[Rule] = (), scope: str = "mesh") -> None:
        self.me = me
        self.scope = scope
        self.set_rules(rules)

    def set_rules(self, rules: Sequence[Rule]) -> None:
        """Replace the rules, and update all values derived from them."""
        self.rules = tuple(rules)
        self.is_plain = not rules and self.scope == "mesh"  # each node is master of its own clients' messages
        self.has_several = has_several(rules)  # whether a message may have more than one master
        self.has_backups = any(rule.backup for rule in rules)
        self.has_parts = has_key_rules(rules)  # whether relays may have only some keys of a pattern
        self.has_dirty = any(rule.dirty_read for rule in rules)
        self.has_cache_terms = any(rule.cache_ttl or rule.cache_linger for rule in rules)
        self.may_choose = has_rivals(rules, lambda rule: rule.node != self.me)  # a stream may have several
        self.has_histories = any(rule.history > 1 and rule.node == self.me for rule in rules)
        self.has_min_nodes = any(rule.min_nodes > 1 and rule.node == self.me for rule in rules)
        self._claims = Claims(self.me, self.rules, self.scope)
        self.has_filters = bool(self._claims.tests)  # whether routes may depend on content

    def decide(
        self,
        key: str,
        domain: str,
        view: NodesView,
        visited: Collection[str] = (),
        of: Hashable = "",
        is_copy: bool = False,
        xml: str = "",
        held: FilterResults = (),
    ) -> Decision:
        """Return the decision on a message with this key, domain and XML that has been at `visited`.

        `of` is its publisher's stream, which keeps one of several equally good routes. With `is_copy`, the
        sender has sent a copy to each master. `held` are the results of the filters, if rules read contents.
        """
        claims = self._claims.on(key, domain, not visited, xml, held)
        if claims:
            decision = self._claimed(claims, view, visited, of, domain, is_copy)
            is_counted = self.has_min_nodes and decision.kind is Kind.HERE
            return if_enough(self.me, claims, view, decision) if is_counted else decision
        if is_own_domain(domain):
            return here("reserved for the mesh: rules do not apply")
        if self.scope == "mesh":
            return here("default-scope mesh: the node is master for its own clients")
        if not domain and self._claims.takes_default:
            return here("without a domain, this node accepts messages of its own clients")
        what = f"domain {domain}" if domain else "messages without a domain"
        return wait(f"no rule names a master of {what}")

    def _claimed(
        self,
        claims: Sequence[Claim],
        view: NodesView,
        visited: Collection[str],
        of: Hashable,
        domain: str,
        is_copy: bool,
    ) -> Decision:
        if self.has_backups and any(claim.is_backup for claim in claims):
            return stand_in(self.me, claims, view, visited, of, domain, is_copy)
        if self.has_several:
            return divide(self.me, claims, view, visited, of, domain, is_copy)
        return choose(self.me, claims, view, visited, of, domain)

    def address(
        self,
        to: SessionName,
        domain: str,
        view: NodesView,
        visited: Collection[str] = (),
        force: bool = False,
        of: Hashable = "",
    ) -> Decision:
        """Return the decision on a direct message: by its node if that is known, otherwise by its domain.

        A message without a node stays here unless a rule leads to another node. With `force`, a message to an
        unknown node waits instead of being refused.
        """
        node = to.node
        if node == self.me:
            return here("addressed to this node")
        if node and (way := _way_to(node, view)) is not None:
            return circle(self.me, way.node, visited) if way.node in visited else way
        # A backup accepts no direct messages: they wait where their readers connect.
        claims = [claim for claim in self._claims.of_domain(domain) if not claim.is_backup]
        if claims:
            decision = choose(self.me, claims, view, visited, of, domain)
            if decision.kind is not Kind.HERE:
                return decision
        if not node:
            return here("a relative address, and no rule matches")
        if force:
            return wait(f"node {node} is unknown", node)
        return refuse(f"no node {node} can be reached from {self.me}", node, "UNKNOWN_NODE")

    def sources(
        self, kind: str, text: str, domain: str, view: NodesView, use: Use = Use.SUBSCRIBE
    ) -> Sources:
        """Return the nodes to which a query must be sent, without this node itself."""
        parts = self._claims.of_query(kind, text, domain)
        asked = [self._query_decision(claims, domain, view, use) for claims in parts if claims]
        return Sources.of(asked, everyone=self.scope == "mesh" and not parts[-1])

    def claims(self, key: str, domain: str, xml: str = "", held: FilterResults = ()) -> tuple[Claim, ...]:
        """Return the claims of the most specific rules on a message of a client of this node."""
        return self._claims.on(key, domain, True, xml, held)

    def of_domain(self, domain: str, view: NodesView) -> Sequence[Claim]:
        """Return the claims in effect on any message of a domain; "*" stands for domains without a rule."""
        claims = self._claims.of_domain(domain)
        return counting(self.me, claims, view)[0] if self.has_backups else claims

    def is_backed_domain(self, domain: str) -> bool:
        return self.has_backups and any(claim.is_backup for claim in self._claims.of_domain(domain))

    def named_domains(self) -> tuple[str, ...]:
        """Return the domains that rules name without filters, each once; "*" stands for all others."""
        rules = (rule for rule in self.rules if rule.node == self.me or not rule.is_rest)
        keys = chain.from_iterable(rule.whole_domains() for rule in rules)
        found = (key.text if key.kind == DOMAIN else ANY_DOMAIN for key in keys)
        return tuple(dict.fromkeys(filter(None, found)))

    def masters(self, key: str, e: Envelope) -> tuple[str, ...]:
        """Return the masters of an envelope's messages with that key, as far as rules name them."""
        return masters_of(self._claims_on(key, e))

    def holders(self, key: str, e: Envelope) -> tuple[str, ...]:
        return holders_of(self._claims_on(key, e))

    def is_backed(self, key: str, e: Envelope) -> bool:
        return self.has_backups and any(claim.is_backup for claim in self._claims_on(key, e))

    def comes_in_parts(self, key: str, e: Envelope) -> bool:
        """Return whether a node may deliver some messages of a publisher before others deliver the rest."""
        return self.has_parts or self.is_backed(key, e)

    def is_dirty(self, e: Envelope, node: str) -> bool:
        """Return whether local clients receive the envelope before it reaches `node`."""
        return self.has_dirty and all(
            any(claim.node == node and claim.dirty_read for claim in self._claims_on(key, e))
            for key in e.keys
        )

    def cache_ttls(self, e: Envelope) -> dict[str, float]:
        """Return for each key how long a slave may cache its value, in s; keys without a limit are left out.

        If several rules decide, the shortest time counts.
        """
        if not self.has_cache_terms:
            return {}
        ttls = ((key, [c.cache_ttl for c in self._claims_on(key, e) if c.cache_ttl]) for key in e.keys)
        return {key: min(found) for key, found in ttls if found}

    def cache_linger(self, kind: str, text: str, domain: str) -> float:
        """Return for how many s a query continues after its last local subscriber, by its longest rule."""
        parts = self._claims.of_query(kind, text, domain) if self.has_cache_terms else []
        return max((claim.cache_linger for claims in parts for claim in claims), default=0.0)

    def histories(self, e: Envelope) -> dict[str, int]:
        """Return for each key how many messages this node keeps as their master, if more than one."""
        if not self.has_histories:
            return {}
        kept = ((key, [c.history for c in self._claims_on(key, e) if self._is_master(c)]) for key in e.keys)
        return {key: most for key, found in kept if (most := max(found, default=1)) > 1}

    def _is_master(self, claim: Claim) -> bool:
        return claim.node == self.me and claim.stratum == 0

    def is_kept(self, key: str, e: Envelope) -> bool:
        """Return whether this node is one of several that retain the topic for each other.

        System topics are never retained in this way.
        """
        return self.is_backed(key, e) and self.me in self.holders(key, e) and not key.startswith(SYSTEM)

    def partners(self, kind: str, text: str, domain: str) -> tuple[str, ...]:
        """Return the other nodes that may be master of matching messages while this node is not."""
        parts = self._claims.of_query(kind, text, domain) if self.has_backups else []
        found = dict[str, None]()
        for claims in parts:
            holders = holders_of(claims)
            if self.me in holders and any(claim.is_backup for claim in claims):
                found.update(dict.fromkeys(node for node in holders if node != self.me))
        return tuple(found)

    def stands_for(self, key: str, e: Envelope, view: NodesView) -> tuple[str, ...]:
        """Return the unreachable masters of the message that this node would replace."""
        if not self.has_backups:
            return ()
        counted, masters = counting(self.me, self._claims_on(key, e), view)
        return masters if any(claim.node == self.me for claim in counted) else ()

    def stands_in_for(self, node: str) -> tuple[str, ...]:
        """Return the alternatives of rules for which this node is a backup of `node`, as sorted texts."""
        mine = {str(key) for r in self.rules if r.backup and r.node == self.me for key in r.alternatives()}
        theirs = {str(key) for r in self.rules if r.is_master and r.node == node for key in r.alternatives()}
        return tuple(sorted(mine & theirs))

    def accepting(self, kind: str, text: str, domain: str) -> tuple[tuple[str, ...], bool]:
        """Return the nodes that accept matching messages, and whether unnamed nodes may also accept them."""
        parts = self._claims.of_query(kind, text, domain)
        named = [holders_of(claims) or parents_of(claims) for claims in parts]
        nodes = dict.fromkeys(chain.from_iterable(named))
        is_open = any(claims and not nodes for claims, nodes in zip(parts, named, strict=True))
        return tuple(nodes), is_open or (self.scope == "mesh" and not parts[-1])

    def all_masters(self, kind: str, text: str, domain: str) -> frozenset[str]:
        """Return all nodes that may ever be queried for matching messages."""
        parts = self._claims.of_query(kind, text, domain)
        return frozenset(claim.node for claims in parts for claim in closer(self.me, all_masters(claims)))

    def named_nodes(self, kind: str, text: str, domain: str) -> frozenset[str]:
        """Return all nodes that rules name for matching messages, including this one."""
        parts = self._claims.of_query(kind, text, domain)
        return frozenset(claim.node for claims in parts for claim in claims)

    def row(self, key: str, domain: str = "", xml: str = "") -> Hashable:
        """Return a value by which messages share decisions.

        Messages with the same value, domain, content and route are decided alike.
        """
        return self._claims.fit(key, domain, xml)

    def looks_inside(self, key: str, domain: str, xml: str = "", is_own: bool = True) -> bool:
        return self._claims.looks_inside(key, domain, xml, is_own)

    def held(self, message: FilteredMessage) -> FilterResults:
        return self._claims.held(message)

    def row_of_query(self, kind: str, text: str, domain: str) -> Hashable:
        """Return a value such that queries with the same value have the same sources."""
        return self._claims.row_of_query(kind, text, domain)

    def _claims_on(self, key: str, e: Envelope) -> tuple[Claim, ...]:
        looks = self.has_filters and self._claims.looks_inside(key, e.domain, e.xml)
        held = self._claims.held(FilterInput(e, 0)) if looks else ()
        return self._claims.on(key, e.domain, True, e.xml, held)

    def _query_decision(self, claims: tuple[Claim, ...], domain: str, view: NodesView, use: Use) -> Decision:
        """Return the decision where to send a query to which `claims` apply; HERE if this node is the master.

        All subscriptions for one rule take one route: on two routes, messages could overtake each other.
        """
        of = None if use is Use.GET else claims[0].by
        if self.has_backups and use is Use.SUBSCRIBE:
            claims = tuple(all_masters(claims))
        elif self.has_backups:
            claims = tuple(counting(self.me, claims, view)[0])
        if use is Use.ERASE:
            return divide(self.me, claims, view, (), of, domain, is_copy=False)
        masters = masters_of(claims) if use is Use.SUBSCRIBE else ()
        together = Together(masters if len(masters) > 1 else ())
        return choose(self.me, claims, view, (), of, domain, together)


def _way_to(node: str, view: NodesView) -> Decision | None:
    """Return the decision for a node by name, or None if no route to the node is known."""
    if view.is_known(node):
        return (forward if view.is_alive(node) else wait)("addressed to it", node)
    way = view.way_to(node)
    return forward(f"the route to {node}", way) if way else None
