"""Safety check for changes of rules while messages flow: topics with several masters must keep them."""

# Law 1: a topic with several masters or backups, by the old or the new rules, keeps all its claims in their
# order: duplicates are detected by the order in which each master delivers.
# Law 2: a more specific rule also takes claims away. Topics with several masters must therefore be
# named by a key or a domain alone, for which it is cheap to decide which other rules may match.

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from mesh.errors import NotAvailable
from mesh.mapping.rules import DOMAIN, EXACT, PATTERN, XPATH, KeyRule, Rule, holders_of_each, rivalry

KeyText = tuple[str, str]  # kind and text of a key
# An alternative, its node, stratum and parent, and whether it is a backup.
Term = tuple[KeyRule, str, int, str, bool]
PLAIN = frozenset((EXACT, DOMAIN))


def check_change(before: Iterable[Sequence[Rule]], after: Sequence[Rule], node: str) -> None:
    """Raise NotAvailable if a running node cannot change from each of `before` to the rules `after`."""
    if not all(leaves_shared(each, after) for each in before):
        text = "Changed rules for topics with several masters or backups require a restart."
        hint = (
            f"If they are already mesh-wide, or in the file of {node}, restart {node}. "
            "Otherwise write them into the nodes' files, and restart the nodes."
        )
        raise NotAvailable(text, hint=hint)


def leaves_shared(before: Sequence[Rule], after: Sequence[Rule]) -> bool:
    """Return whether each topic with several masters, by the old or new rules, certainly keeps its claims.

    The result is also False if that cannot be decided cheaply.
    """
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
    backed = {rivalry(key) for rule in rules if rule.backup for key in rule.alternatives()}
    holders = holders_of_each(rule for rule in rules if rule.stratum == 0)
    return backed | {what for what, nodes in holders.items() if len(nodes) > 1}


def _are_plain(shared: set[KeyText], terms: Iterable[Term]) -> bool:
    is_named = all(kind in PLAIN for kind, _ in shared)
    return is_named and not any(key.filters for key, *_ in terms if rivalry(key) in shared)


def _defaults(rules: Iterable[Rule], shared: set[KeyText]) -> Hashable:
    if (DOMAIN, "") not in shared:
        return ()
    return tuple((rule.node, rule.stratum, rule.accept_default, rule.accept_other_default) for rule in rules)
