"""Which nodes have a claim on a message with this key and domain?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from mesh.mapping.decision import Claim
from mesh.mapping.rules import ANY_DOMAIN, Rule
from mesh.patterns import matches

CACHE = 100_000  # keys whose claims are remembered


class Claims:
    """A set of rules, as one node reads it. Other rules are another one of these."""

    def __init__(self, me: str, rules: Sequence[Rule], scope: str) -> None:
        mine = [rule for rule in rules if rule.node == me and rule.stratum == 0]
        self.takes_default = not mine or any(r.accept_default or "" in r.domains for r in mine)
        self._me = me
        self._rules = rules
        self._is_mesh = scope == "mesh"
        self._exact = {key for rule in rules for key in rule.keys}
        self._domains = {domain for rule in rules for domain in rule.domains}
        self._found: dict[tuple[str, str, bool], tuple[Claim, ...]] = {}

    def on(self, key: str, domain: str, is_own: bool = True) -> tuple[Claim, ...]:
        """Claims on one message. `is_own`: of a client of this node, which may take those of others and not
        its own."""
        if not self._rules:
            return ()
        if key not in self._exact:
            key = ""  # all these are alike: what is remembered stays small
        found = self._found.get((key, domain, is_own))
        if found is None:
            found = self._exactly(key) or (self.of_domain(domain) if domain else self._domainless(is_own))
            if len(self._found) >= CACHE:
                self._found.clear()
            self._found[key, domain, is_own] = found
        return found

    def of_domain(self, domain: str) -> tuple[Claim, ...]:
        """Claims on any message in it."""
        if not domain:
            return ()
        by_name = self._of(lambda rule: domain in rule.domains, f"DOMAIN {domain}")
        return by_name or self._of(lambda rule: ANY_DOMAIN in rule.domains, "DOMAIN *")

    def of_query(self, kind: str, text: str, domain: str) -> list[tuple[Claim, ...]]:
        """Claims on each part of what matches it; the last are those on all that no key names."""
        if kind == "exact":
            return [self.on(text, domain)]
        return [*(self._exactly(key) for key in sorted(self._matching(text))), self.on("", domain)]

    def row(self, key: str) -> str:
        """The key itself, if rules name it, else ""."""
        return key if key in self._exact else ""

    def row_of_query(self, kind: str, text: str, domain: str) -> Hashable:
        """Equal for queries with the same claims."""
        is_exact = kind == "exact"
        named = {text} & self._exact if is_exact else self._matching(text)
        return is_exact, frozenset(named), domain if not domain or domain in self._domains else ANY_DOMAIN

    def _matching(self, pattern: str) -> set[str]:
        return {key for key in self._exact if matches(pattern, key)}

    def _exactly(self, key: str) -> tuple[Claim, ...]:
        return self._of(lambda rule: key in rule.keys, f"EXACT {key}") if key in self._exact else ()

    def _domainless(self, is_own: bool) -> tuple[Claim, ...]:
        if self._is_mesh or (is_own and self.takes_default):
            return ()

        def takes(rule: Rule) -> bool:
            is_for_others = is_own and rule.node == self._me and rule.stratum == 0
            return not is_for_others and ("" in rule.domains or rule.accept_other_default)

        named = self._of(takes, "accepts messages without a domain")
        return named or self._of(lambda rule: ANY_DOMAIN in rule.domains, "DOMAIN *")

    def _of(self, fits: Callable[[Rule], bool], by: str) -> tuple[Claim, ...]:
        return tuple(Claim(r.node, r.stratum, r.refid, by) for r in self._rules if fits(r))
