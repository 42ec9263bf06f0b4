"""May rules change to others while messages flow? Not those of what has several masters."""

# Law 1: what has several masters, or backups, by the rules before or by the new ones keeps all claims that it
#        has, in their order: what several bring is told apart by the order in which each brings it.
# Law 2: a claim is taken from it by a more specific kind as well. So it has to be by a key or a domain by
#        name alone that several are its masters: by these it is decided at a glance what else may fit it.

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from mesh.mapping.rules import DOMAIN, EXACT, PATTERN, XPATH, KeyRule, Rule, holders_of_each, rivalry

KeyText = tuple[str, str]  # a kind of key, and its text
Term = tuple[
    KeyRule, str, int, str, bool
]  # an alternative, of which node, its stratum, parent, is it a backup
PLAIN = frozenset((EXACT, DOMAIN))


def leaves_shared(before: Sequence[Rule], after: Sequence[Rule]) -> bool:
    """Has all that has several masters by either the same ones by the other?"""
    terms, others = list(_terms(before)), list(_terms(after))
    shared = _shared(before) | _shared(after)
    if not shared:
        return True
    if not _are_plain(shared, (*terms, *others)) or _defaults(before, shared) != _defaults(after, shared):
        return False
    if [t for t in terms if rivalry(t[0]) in shared] != [t for t in others if rivalry(t[0]) in shared]:
        return False
    domains = any(kind == DOMAIN for kind, _ in shared)
    changed = set(terms) ^ set(others)
    return not any(domains and term[0].kind in (EXACT, XPATH, PATTERN) for term in changed)


def _terms(rules: Iterable[Rule]) -> Iterable[Term]:
    return (
        (key, rule.node, rule.stratum, rule.refid, rule.backup)
        for rule in rules
        for key in rule.alternatives()
    )


def _shared(rules: Sequence[Rule]) -> set[KeyText]:
    """What several nodes are masters of, or one in the place of another."""
    backed = {rivalry(key) for rule in rules if rule.backup for key in rule.alternatives()}
    holders = holders_of_each(rule for rule in rules if rule.stratum == 0)
    return backed | {what for what, nodes in holders.items() if len(nodes) > 1}


def _are_plain(shared: set[KeyText], terms: Iterable[Term]) -> bool:
    """Is all of it a key or a domain, of which nothing else is asked?"""
    is_named = all(kind in PLAIN for kind, _ in shared)
    return is_named and not any(key.filters for key, *_ in terms if rivalry(key) in shared)


def _defaults(rules: Iterable[Rule], shared: set[KeyText]) -> Hashable:
    """Who accepts messages without a domain, where several do."""
    if (DOMAIN, "") not in shared:
        return ()
    return tuple((rule.node, rule.stratum, rule.accept_default, rule.accept_other_default) for rule in rules)
