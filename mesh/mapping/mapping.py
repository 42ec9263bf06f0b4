"""Who is master of a message, and which node is next on the way to it? Rules in, decisions out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from mesh.mapping.rules import ANY_DOMAIN, Rule
from mesh.names import SessionName
from mesh.patterns import matches

# Law 1: the most specific rules decide alone: EXACT key, then DOMAIN by name, then DOMAIN *.
# Law 2: a message goes to a lower stratum than this node's own, or stays.
# Law 3: it never goes to a node where it has been.
# Law 4: it never ends silently: it is here, goes on, waits for somebody, or is refused.

CACHE = 100_000  # keys whose claims are remembered


class View(Protocol):
    """What is known of other nodes at this moment, by name."""

    def is_known(self, node: str) -> bool:
        """May it be linked, or is it linked now?"""

    def is_alive(self, node: str) -> bool:
        """Can it be asked something now?"""

    def way_to(self, node: str) -> str | None:
        """The neighbour through which a node that is not known can be reached, as far as that was asked."""


class Kind(Enum):
    """What becomes of a message; the value is the word that people read."""

    HERE = "here"
    FORWARD = "forward"
    WAIT = "wait"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Decision:
    """`node`: where it goes, or for whom it waits ("" = nobody knows); `code` of a refusal."""

    kind: Kind
    why: str
    node: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One node's claim on a message, and by which rule."""

    node: str
    stratum: int
    refid: str
    by: str


@dataclass(frozen=True, slots=True)
class Sources:
    """Whom to ask for what a query wants: the nodes that rules name, and perhaps everybody."""

    hops: tuple[str, ...] = ()
    everyone: bool = False


class Mapping:
    """The rules as one node sees them. `scope` says where messages without a domain live."""

    def __init__(self, me: str, rules: Sequence[Rule] = (), scope: str = "mesh") -> None:
        self.me = me
        self.scope = scope
        self.rules = tuple(rules)
        self.is_plain = not rules and scope == "mesh"  # every node is master of its own clients' messages
        mine = [rule for rule in rules if rule.node == me and rule.stratum == 0]
        self._takes_default = not mine or any(r.accept_default or "" in r.domains for r in mine)
        self._exact = {key for rule in rules for key in rule.keys}
        self._claims: dict[tuple[str, str, bool], tuple[Claim, ...]] = {}

    def decide(self, key: str, domain: str, view: View, visited: Collection[str] = ()) -> Decision:
        """What becomes of a message with this key and domain that has been at `visited`?"""
        claims = self._claims_on(key, domain, is_own=not visited)
        if claims:
            return self._choose(claims, view, visited)
        if self.scope == "mesh":
            return Decision(Kind.HERE, "default-scope mesh: master of its own clients' messages")
        if not domain and self._takes_default:
            return Decision(Kind.HERE, "no domain, and this node accepts those of its own clients")
        what = f"domain {domain}" if domain else "messages without a domain"
        return Decision(Kind.WAIT, f"no rule names a master of {what}")

    def address(
        self, to: SessionName, domain: str, view: View, visited: Collection[str] = (), force: bool = False
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
            decision = self._choose(claims, view, visited)
            if decision.kind is not Kind.HERE:
                return decision
        if not node:
            return Decision(Kind.HERE, "a relative address, and no rule says otherwise")
        if force:
            return Decision(Kind.WAIT, f"node {node} is unknown", node)
        return Decision(Kind.REFUSE, f"no node {node} can be reached from {self.me}", node, "UNKNOWN_NODE")

    def sources(self, kind: str, text: str, domain: str, view: View) -> Sources:
        """Whom must this node ask to get what matches a query? Its own log is not named."""
        sets: list[tuple[Claim, ...]] = []
        if kind == "exact":
            sets.append(self._claims_on(text, domain))
        else:
            sets += [self._exact_claims(key) for key in sorted(self._exact) if matches(text, key)]
            sets.append(self._claims_on("", domain))
        hops = [hop for claims in sets if claims and (hop := self._hop(claims, view))]
        everyone = self.scope == "mesh" and not sets[-1]
        return Sources(tuple(dict.fromkeys(hops)), everyone)

    # --- claims -----------------------------------------------------------------------------------------

    def _claims_on(self, key: str, domain: str, is_own: bool = True) -> tuple[Claim, ...]:
        if not self.rules:
            return ()
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

    def _choose(self, claims: Iterable[Claim], view: View, visited: Collection[str]) -> Decision:
        mine = min((c for c in claims if c.node == self.me), key=lambda c: c.stratum, default=None)
        if mine is not None and mine.stratum == 0:
            return Decision(Kind.HERE, f"{mine.by}, stratum 0: master")
        closer = [c for c in claims if c.node != self.me and (mine is None or c.stratum < mine.stratum)]
        ways = [c for c in closer if view.is_known(c.node)]
        if not ways:
            return _nobody(claims, closer)
        open_ways = [c for c in ways if c.node not in visited]
        if not open_ways:
            return self._loop(ways[0].node, visited)
        best = min(open_ways, key=lambda c: self._rank(c, mine, view))
        why = f"{best.by}, stratum {best.stratum}"
        return Decision(Kind.FORWARD if view.is_alive(best.node) else Kind.WAIT, why, best.node)

    def _rank(self, claim: Claim, mine: Claim | None, view: View) -> tuple[bool, bool, int]:
        is_parent = mine is not None and mine.refid == claim.node
        return not view.is_alive(claim.node), not is_parent, claim.stratum

    def _hop(self, claims: tuple[Claim, ...], view: View) -> str:
        decision = self._choose(claims, view, ())
        return decision.node if decision.kind in (Kind.FORWARD, Kind.WAIT) else ""

    def _unless_visited(self, decision: Decision, visited: Collection[str]) -> Decision:
        return self._loop(decision.node, visited) if decision.node in visited else decision

    def _loop(self, node: str, visited: Collection[str]) -> Decision:
        path = " -> ".join((*visited, *(() if self.me in visited else (self.me,)), node))
        return Decision(Kind.REFUSE, f"the rules send it in a circle: {path}", node, "CIRCULAR_LOOP")


def _nobody(claims: Iterable[Claim], closer: Sequence[Claim]) -> Decision:
    """Rules match, but lead to no node that may be linked."""
    if closer:
        names = ", ".join(claim.node for claim in closer)
        return Decision(Kind.WAIT, f"{names}: not known here", closer[0].node)
    by = next(iter(claims)).by
    return Decision(Kind.WAIT, f"{by}: no rule names a node closer to the master")
