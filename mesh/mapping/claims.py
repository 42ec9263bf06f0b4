"""Finds the nodes with a claim on a message by its key, domain, XML and content."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mesh.mapping.decision import Claim
from mesh.mapping.filters import Filter, FilteredMessage, Test, made
from mesh.mapping.keyxml import Document, KeyXPath, asked
from mesh.mapping.rules import ANY, ANY_DOMAIN, DOMAIN, EXACT, FILTER, PATTERN, REST, XPATH, KeyRule, Rule
from mesh.patterns import SYSTEM, matches
from mesh.reserved import is_own_domain

CACHE = 100_000  # keys whose claims are remembered

# The indices of the XPATH and PATTERN keys that match a message, and its key if an EXACT key names it.
# Messages with the same value are decided alike.
Fit = tuple[str, tuple[int, ...]]
FilterResults = tuple[bool, ...]  # result of each filter for a message
NO_FIT: Fit = ("", ())
NO_CLAIMS: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleTerm:
    """An alternative of one rule. `filters` are the indices of its filters in `Claims.tests`."""

    rule: Rule
    key: KeyRule
    filters: tuple[int, ...]
    xpath: KeyXPath | None = None

    @property
    def claim(self) -> Claim:
        rule = self.rule
        by = f"{self.key}, as backup" if rule.backup else str(self.key)
        return Claim(
            rule.node, rule.stratum, rule.refid, by, rule.backup, rule.dirty_read, rule.cache_ttl,
            rule.cache_linger, rule.history, rule.min_nodes,
        )  # fmt: skip

    def fits_key(self, key: str, document: Document) -> bool:
        return self.xpath.matches(document) if self.xpath is not None else matches(self.key.text, key)


class Claims:
    """A set of rules, as one node applies it. Immutable: other rules need another instance."""

    def __init__(self, me: str, rules: Sequence[Rule], scope: str) -> None:
        self._me = me
        self._rules = rules
        self._is_mesh = scope == "mesh"
        places: dict[Filter, int] = {}
        terms = [
            RuleTerm(
                rule, key, tuple(places.setdefault(each, len(places)) for each in key.filters), _xpath(key)
            )
            for rule in rules
            for key in rule.alternatives()
        ]
        self.tests: tuple[Test, ...] = tuple(map(made, places))
        self._by_key: dict[str, list[RuleTerm]] = {}
        self._by_domain: dict[str, list[RuleTerm]] = {}
        for term in terms:
            if term.key.kind == EXACT:
                self._by_key.setdefault(term.key.text, []).append(term)
            elif term.key.kind == DOMAIN:
                self._by_domain.setdefault(term.key.text, []).append(term)
        self._xpaths, self._patterns, self._filters, self._any = (
            [term for term in terms if term.key.kind == kind] for kind in (XPATH, PATTERN, FILTER, ANY)
        )
        self._rest = parents(me, (term for term in terms if term.key.kind == REST))
        self._looked = [*self._xpaths, *self._patterns]  # keys that must be tested
        self._reads_key = bool(self._patterns) or any(
            term.xpath is not None and term.xpath.reads_key for term in self._xpaths
        )
        mine = [rule for rule in rules if rule.node == me and rule.is_master]
        named = {term.rule for term in self._by_domain.get("", ())}
        takes = any(rule.accept_default or rule in named for rule in mine)
        self.takes_default = takes if mine else not self._rest
        self._fits: dict[tuple[str, str, str], Fit] = {}
        self._found: dict[tuple[Fit, str, bool, FilterResults], tuple[Claim, ...]] = {}

    # --- messages ---------------------------------------------------------------------------------------

    def on(
        self, key: str, domain: str, is_own: bool = True, xml: str = "", held: FilterResults = ()
    ) -> tuple[Claim, ...]:
        """Return the claims of the most specific rules that match a message.

        With `is_own` a client of this node published the message, and the node's rules for own messages
        without a domain apply. `held` are the results of the filters, if the rules have any.
        """
        if not self._rules or is_own_domain(domain) or (self._rest and key.startswith(SYSTEM)):
            return NO_CLAIMS
        at = (self.fit(key, domain, xml), domain, is_own, held)
        found = self._found.get(at)
        if found is None:
            if len(self._found) >= CACHE:
                self._found.clear()
            found = self._found[at] = self._most_specific(at[0], domain, is_own, held)
        return found

    def fit(self, key: str, domain: str = "", xml: str = "") -> Fit:
        """Return a value that decides, with domain, content and `is_own`, which claims `on` returns."""
        if not self._looked:
            return (key, ()) if key in self._by_key else NO_FIT
        if not (xml or self._reads_key):
            return self._fitting(key if key in self._by_key else "", "", "")
        return self._fitting(key, domain if self._reads_key else "", xml)

    def _fitting(self, key: str, domain: str, xml: str) -> Fit:
        found = self._fits.get((key, domain, xml))
        if found is None:
            if len(self._fits) >= CACHE:
                self._fits.clear()
            document = Document(key, domain, xml)
            places = tuple(i for i, term in enumerate(self._looked) if term.fits_key(key, document))
            found = self._fits[key, domain, xml] = (key if key in self._by_key else "", places)
        return found

    def _most_specific(self, fit: Fit, domain: str, is_own: bool, held: FilterResults) -> tuple[Claim, ...]:
        for terms in self._levels(fit, domain, is_own):
            if fits := tuple([t.claim for t in terms if all(i < len(held) and held[i] for i in t.filters)]):
                return fits
        return NO_CLAIMS

    def _levels(self, fit: Fit, domain: str, is_own: bool) -> Iterator[Sequence[RuleTerm]]:
        """Yield the terms that match, filters aside, in one group per kind, the most specific kind first."""
        key, places = fit
        looked = [self._looked[i] for i in places]
        yield self._by_key.get(key, ())
        yield [term for term in looked if term.key.kind == XPATH]
        yield [term for term in looked if term.key.kind == PATTERN]
        if domain:
            yield self._by_domain.get(domain, ())
        elif not self._is_mesh:
            if is_own and self.takes_default:
                return
            yield self._default(is_own)
        yield self._filters
        if domain or not self._is_mesh:
            yield self._any
        yield self._rest

    def _default(self, is_own: bool) -> list[RuleTerm]:
        """Return the terms of nodes that accept messages without a domain.

        For messages of this node's own clients, this node itself is left out.
        """
        named = self._by_domain.get("", [])
        open_to_all = [
            RuleTerm(rule, KeyRule(DOMAIN), ()) for rule in self._rules if rule.accept_other_default
        ]
        terms = {term.rule: term for term in (*named, *open_to_all)}
        taking = [term for term in terms.values() if not (is_own and self._is_mine(term.rule))]
        return sorted(taking, key=lambda term: self._rules.index(term.rule))

    def _is_mine(self, rule: Rule) -> bool:
        return rule.node == self._me and rule.is_master

    # --- contents ---------------------------------------------------------------------------------------

    def looks_inside(self, key: str, domain: str, xml: str = "", is_own: bool = True) -> bool:
        """Return whether the master depends on the content of the message."""
        if not self.tests or is_own_domain(domain):
            return False
        for terms in self._levels(self.fit(key, domain, xml), domain, is_own):
            if any(term.filters for term in terms):
                return True
            if terms:
                return False
        return False

    def held(self, message: FilteredMessage) -> FilterResults:
        return tuple([test(message) for test in self.tests])

    # --- queries ----------------------------------------------------------------------------------------

    def of_domain(self, domain: str) -> tuple[Claim, ...]:
        """Return the claims without filters on all messages of a domain.

        There are none for "" and for the domains of the mesh itself.
        """
        if not domain or is_own_domain(domain):
            return NO_CLAIMS
        by_name = tuple(term.claim for term in self._by_domain.get(domain, ()) if not term.filters)
        any_domain = by_name or tuple(term.claim for term in self._any if not term.filters)
        return any_domain or tuple(term.claim for term in self._rest)

    def of_query(self, kind: str, text: str, domain: str) -> list[tuple[Claim, ...]]:
        """Return the claims on each part of the messages that match a query; a part may have no claims.

        The last part consists of the matches that are in no other part.
        """
        if not self._rules or is_own_domain(domain):
            return [NO_CLAIMS]
        if kind == "exact" and not (self._looked or self.tests):
            return [self.on(text, domain)]
        return [*self._possible(kind, text, domain), self._certain(kind, text, domain)]

    def _possible(self, kind: str, text: str, domain: str) -> Iterator[tuple[Claim, ...]]:
        """Yield the claims on possible matches: each key that a rule names, and each condition of a rule."""
        for key in self._keys_of_query(kind, text):
            plain = tuple(term.claim for term in self._by_key[key] if not term.filters)
            if plain and kind == "exact":
                return
            yield from ([plain] if plain else [])
        asking = [*(term for terms in self._by_key.values() for term in terms if term.filters), *self._looked]
        for term in [*asking, *self._by_domain.get(domain, ()), *self._filters, *self._any]:
            is_key = term.key.kind in (EXACT, PATTERN)
            if (term.filters or term.key.kind in (XPATH, PATTERN)) and not (
                is_key and kind == "exact" and not matches(term.key.text, text)
            ):
                yield (term.claim,)

    def _certain(self, kind: str, text: str, domain: str) -> tuple[Claim, ...]:
        """Return the claims on all matches that `_possible` leaves out."""
        if kind == "exact" and text in self._by_key:
            plain = tuple(term.claim for term in self._by_key[text] if not term.filters)
            if plain:
                return plain
        if domain:
            return self.of_domain(domain)
        return self._most_specific(NO_FIT, "", True, ())

    def _keys_of_query(self, kind: str, text: str) -> list[str]:
        if kind == "exact":
            return [text] if text in self._by_key else []
        return sorted(key for key in self._by_key if kind == "xpath" or matches(text, key))

    def row_of_query(self, kind: str, text: str, domain: str) -> Hashable:
        """Return a value such that queries with the same value have the same claims."""
        named = frozenset(self._keys_of_query(kind, text))
        if self._patterns:  # which of these an exact key matches
            named |= frozenset({f"#{text}"}) if kind == "exact" else frozenset()
        is_named = not domain or domain in self._by_domain or is_own_domain(domain)
        return kind == "exact", named, domain if is_named else ANY_DOMAIN


def parents(me: str, terms: Iterable[RuleTerm]) -> list[RuleTerm]:
    """Return the terms of the node `me`, each followed by a term of its parent, one stratum closer."""
    found = list[RuleTerm]()
    for term in terms:
        if term.rule.node == me:
            parent = replace(term.rule, node=term.rule.refid, stratum=term.rule.stratum - 1, refid="")
            found += [term, RuleTerm(parent, term.key, ())]
    return found


def _xpath(key: KeyRule) -> KeyXPath | None:
    return asked(key.text) if key.kind == XPATH else None
