"""Who is master of a message, and which node is next on the way to it? Rules in, decisions out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

from mesh.mapping.decision import Claim, Decision, Kind, Sources, Use, View
from mesh.mapping.rules import ANY_DOMAIN, Rule
from mesh.names import SessionName
from mesh.patterns import matches

# Law 1: the most specific rules decide alone: EXACT key, then DOMAIN by name, then DOMAIN *.
# Law 2: a message goes to a lower stratum than this node's own, or stays.
# Law 3: it never goes to a node where it has been.
# Law 4: it never ends silently: it is here, goes on, waits for somebody, or is refused.
# Law 5: where several nodes are masters, the first that sends straight to masters, or is one, sends a copy
#        to each of them. A master keeps what comes to it as such a copy, and divides it no more.

CACHE = 100_000  # keys whose claims are remembered
BEHIND, AWAY = 1, 2  # how far masters of whom not all, or none, are alive stand behind ways that are


class Mapping:
    """The rules as one node sees them. `scope` says where messages without a domain live."""

    def __init__(self, me: str, rules: Sequence[Rule] = (), scope: str = "mesh") -> None:
        self.me = me
        self.scope = scope
        self.rules = tuple(rules)
        self.is_plain = not rules and scope == "mesh"  # every node is master of its own clients' messages
        mine = [rule for rule in rules if rule.node == me and rule.stratum == 0]
        self._takes_default = not mine or any(r.accept_default or "" in r.domains for r in mine)
        self.has_several = has_several(rules)  # may a message have more than one master?
        self.may_choose = _has_rivals(rules, lambda rule: rule.node != me)  # may a stream go either way?
        self._exact = {key for rule in rules for key in rule.keys}
        self._domains = {domain for rule in rules for domain in rule.domains}
        self._claims: dict[tuple[str, str, bool], tuple[Claim, ...]] = {}

    def decide(
        self,
        key: str,
        domain: str,
        view: View,
        visited: Collection[str] = (),
        of: Hashable = "",
        is_copy: bool = False,
    ) -> Decision:
        """What becomes of a message with this key and domain that has been at `visited`?

        `of`: its publisher's stream, which goes one way while there are several as good. `is_copy`: it came
        from a node that has sent one to each master.
        """
        claims = self._claims_on(key, domain, is_own=not visited)
        if claims and self.has_several:
            return self._divide(claims, view, visited, of, is_copy)
        if claims:
            return self._choose(claims, view, visited, of)
        if self.scope == "mesh":
            return Decision(Kind.HERE, "default-scope mesh: master of its own clients' messages")
        if not domain and self._takes_default:
            return Decision(Kind.HERE, "no domain, and this node accepts those of its own clients")
        what = f"domain {domain}" if domain else "messages without a domain"
        return Decision(Kind.WAIT, f"no rule names a master of {what}")

    def address(
        self,
        to: SessionName,
        domain: str,
        view: View,
        visited: Collection[str] = (),
        force: bool = False,
        of: Hashable = "",
    ) -> Decision:
        """What becomes of a point-to-point message? A node that is known wins, then the domain, then here."""
        node = to.node
        if node == self.me:
            return Decision(Kind.HERE, "addressed to this node")
        if node and view.is_known(node):
            kind = Kind.FORWARD if view.is_alive(node) else Kind.WAIT
            return self._unless_visited(Decision(kind, "addressed to it", node), visited)
        if node and (way := view.way_to(node)):
            return self._unless_visited(Decision(Kind.FORWARD, f"the way to {node}", way), visited)
        claims = self._domain_claims(domain)
        if claims:
            decision = self._choose(claims, view, visited, of)
            if decision.kind is not Kind.HERE:
                return decision
        if not node:
            return Decision(Kind.HERE, "a relative address, and no rule says otherwise")
        if force:
            return Decision(Kind.WAIT, f"node {node} is unknown", node)
        return Decision(Kind.REFUSE, f"no node {node} can be reached from {self.me}", node, "UNKNOWN_NODE")

    def sources(self, kind: str, text: str, domain: str, view: View, use: Use = Use.SUBSCRIBE) -> Sources:
        """Whom must this node ask to get what matches a query? Its own log is not named."""
        sets: list[tuple[Claim, ...]] = []
        if kind == "exact":
            sets.append(self._claims_on(text, domain))
        else:
            sets += [self._exact_claims(key) for key in sorted(self._exact) if matches(text, key)]
            sets.append(self._claims_on("", domain))
        named = [self._asked(claims, view, use) for claims in sets if claims]
        hops = tuple(dict.fromkeys(hop for decision in named for hop in decision.hops if hop))
        masters = {hop for decision in named if decision.to_master for hop in decision.hops}
        away = {hop for decision in named if decision.kind is Kind.WAIT for hop in decision.hops if hop}
        everyone = self.scope == "mesh" and not sets[-1]
        return Sources(
            hops, everyone, tuple(h for h in hops if h in masters), tuple(h for h in hops if h in away)
        )

    def masters(self, key: str, domain: str) -> tuple[str, ...]:
        """The nodes that are master of a message, as far as rules name them."""
        return _masters(self._claims_on(key, domain))

    def row(self, key: str) -> str:
        """Keys of one row are decided alike: the key itself, if rules name it, else ""."""
        return key if key in self._exact else ""

    def row_of_query(self, kind: str, text: str, domain: str) -> Hashable:
        """Queries of one row have the same sources."""
        is_exact = kind == "exact"
        named = {text} & self._exact if is_exact else {key for key in self._exact if matches(text, key)}
        return is_exact, frozenset(named), domain if not domain or domain in self._domains else ANY_DOMAIN

    # --- claims -----------------------------------------------------------------------------------------

    def _claims_on(self, key: str, domain: str, is_own: bool = True) -> tuple[Claim, ...]:
        if not self.rules:
            return ()
        if key not in self._exact:
            key = ""  # all these are alike: what is remembered stays small
        found = self._claims.get((key, domain, is_own))
        if found is None:
            found = self._exact_claims(key) or (
                self._domain_claims(domain) if domain else self._domainless_claims(is_own)
            )
            if len(self._claims) >= CACHE:
                self._claims.clear()
            self._claims[key, domain, is_own] = found
        return found

    def _exact_claims(self, key: str) -> tuple[Claim, ...]:
        return self._of(lambda rule: key in rule.keys, f"EXACT {key}") if key in self._exact else ()

    def _domain_claims(self, domain: str) -> tuple[Claim, ...]:
        if not domain:
            return ()
        by_name = self._of(lambda rule: domain in rule.domains, f"DOMAIN {domain}")
        return by_name or self._of(lambda rule: ANY_DOMAIN in rule.domains, "DOMAIN *")

    def _domainless_claims(self, is_own: bool) -> tuple[Claim, ...]:
        """`is_own`: of a client of this node; this node may take those of others and not its own."""
        if self.scope == "mesh" or (is_own and self._takes_default):
            return ()

        def takes(rule: Rule) -> bool:
            is_for_others = is_own and rule.node == self.me and rule.stratum == 0
            return not is_for_others and ("" in rule.domains or rule.accept_other_default)

        named = self._of(takes, "accepts messages without a domain")
        return named or self._of(lambda rule: ANY_DOMAIN in rule.domains, "DOMAIN *")

    def _of(self, fits: Callable[[Rule], bool], by: str) -> tuple[Claim, ...]:
        return tuple(Claim(r.node, r.stratum, r.refid, by) for r in self.rules if fits(r))

    # --- choosing ---------------------------------------------------------------------------------------

    def _divide(
        self, claims: Sequence[Claim], view: View, visited: Collection[str], of: Hashable, is_copy: bool
    ) -> Decision:
        """Where it goes as a message for every master."""
        masters = _masters(claims)
        if self.me in masters:
            others = tuple(n for n in masters if n != self.me and n not in visited and not is_copy)
            why = f"{claims[0].by}, stratum 0: master" + (f", with {', '.join(others)}" if others else "")
            return Decision(Kind.HERE, why, "", "", others, bool(others), is_shared=len(masters) > 1)
        open_masters = tuple(node for node in masters if node not in visited)
        if len(open_masters) < 2:
            return self._choose(claims, view, visited, of)
        # While one of them is away, a way may still lead to all of them.
        return self._choose(claims, view, visited, of, open_masters, BEHIND)

    def _asked(self, claims: tuple[Claim, ...], view: View, use: Use) -> Decision:
        """Whom to ask for what has these masters; nobody, if this node is one.

        All subscriptions to what one rule is about go one way: by two, one would bring messages past others
        that the other brings.
        """
        of = None if use is Use.GET else claims[0].by
        if use is Use.ERASE:
            return self._divide(claims, view, (), of, is_copy=False)
        masters = _masters(claims)
        if use is Use.SUBSCRIBE and len(masters) > 1:
            return self._choose(claims, view, (), of, masters)
        return self._choose(claims, view, (), of)

    def _choose(
        self,
        claims: Sequence[Claim],
        view: View,
        visited: Collection[str],
        of: Hashable,
        together: tuple[str, ...] = (),
        partly: int = 0,
    ) -> Decision:
        """Which node is next? `together`: masters that all get it, if it goes to them at all; `partly`: how
        far they stand behind while only some of them are alive."""
        mine = min((c for c in claims if c.node == self.me), key=lambda c: c.stratum, default=None)
        if mine is not None and mine.stratum == 0:
            return Decision(Kind.HERE, f"{mine.by}, stratum 0: master")
        closer = [c for c in claims if c.node != self.me and (mine is None or c.stratum < mine.stratum)]
        ways = [c for c in closer if view.is_known(c.node)]
        if not ways:
            return _nobody(claims, closer, together)
        open_ways = [c for c in ways if c.node not in visited]
        if not open_ways:
            return self._loop(ways[0].node, visited)

        def rank(claim: Claim) -> tuple[int, bool, int]:
            is_parent = mine is not None and mine.refid == claim.node
            if claim.node not in together:
                return 0 if view.is_alive(claim.node) else AWAY, not is_parent, claim.stratum
            alive = [view.is_alive(node) for node in together]
            return (0 if all(alive) else partly if any(alive) else AWAY), not is_parent, claim.stratum

        ranks = [rank(claim) for claim in open_ways]
        best = min(ranks)
        nodes = list(dict.fromkeys(c.node for c, r in zip(open_ways, ranks, strict=True) if r == best))
        kind = Kind.WAIT if best[0] == AWAY else Kind.FORWARD
        why = f"{open_ways[0].by}, stratum {best[2]}"
        if nodes[0] in together:
            first = next(filter(view.is_alive, together), together[0])
            return Decision(kind, why, first, copies=together, to_master=True)
        node = nodes[0] if len(nodes) == 1 else view.choose(nodes, of)
        return Decision(kind, why, node, to_master=best[2] == 0)

    def _unless_visited(self, decision: Decision, visited: Collection[str]) -> Decision:
        return self._loop(decision.node, visited) if decision.node in visited else decision

    def _loop(self, node: str, visited: Collection[str]) -> Decision:
        path = " -> ".join((*visited, *(() if self.me in visited else (self.me,)), node))
        return Decision(Kind.REFUSE, f"the rules send it in a circle: {path}", node, "CIRCULAR_LOOP")


def _masters(claims: Iterable[Claim]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(claim.node for claim in claims if claim.stratum == 0))


def has_several(rules: Iterable[Rule]) -> bool:
    """Does any domain or key have more than one master?"""
    return _has_rivals(rules, lambda rule: rule.stratum == 0)


def _has_rivals(rules: Iterable[Rule], counts: Callable[[Rule], bool]) -> bool:
    """Do several of the rules that count name a node for the same domain or key?"""
    holders: dict[tuple[str, str], set[str]] = {}
    for rule in filter(counts, rules):
        default = [("domain", "")] if rule.accept_other_default else []
        named = [("domain", domain) for domain in rule.domains] + [("key", key) for key in rule.keys]
        for what in named + default:
            holders.setdefault(what, set()).add(rule.node)
    return any(len(nodes) > 1 for nodes in holders.values())


def _nobody(claims: Iterable[Claim], closer: Sequence[Claim], together: tuple[str, ...]) -> Decision:
    """Rules match, but lead to no node that may be linked."""
    if closer:
        names = ", ".join(claim.node for claim in closer)
        return Decision(Kind.WAIT, f"{names}: not known here", closer[0].node, copies=together)
    by = next(iter(claims)).by
    return Decision(Kind.WAIT, f"{by}: no rule names a node closer to the master")
