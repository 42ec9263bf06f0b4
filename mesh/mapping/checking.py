"""Validation of rules, the same for rules in a file and for shared rules of the mesh."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from mesh.errors import BadKey
from mesh.mapping.cost import check_together
from mesh.mapping.keyxml import asked
from mesh.mapping.rules import ANY, ANY_DOMAIN, DOMAIN, EXACT, FILTER, PATTERN, XPATH, KeyRule, Rule
from mesh.patterns import SYSTEM, check_pattern
from mesh.reserved import is_own_domain
from mesh.values import check_domain, check_key

BROAD = frozenset((XPATH, PATTERN, FILTER, ANY))  # kinds that match many keys and domains
OWN = frozenset((DOMAIN, EXACT, PATTERN))  # kinds that may name system topics


def check_alternative(rule: KeyRule) -> None:
    """Check an alternative, except for its filters. Raises: LocalError."""
    check = CHECKS.get(rule.kind)
    if check is not None:
        check(rule.text)


def check_xpaths(rules: Iterable[Rule]) -> None:
    """Check the total cost of the XPaths. Raises: BadXPath."""
    given = (key for rule in rules for key in rule.alternatives())
    check_together(asked(key.text).price for key in given if key.kind == XPATH)


def in_vain(rule: Rule) -> list[str]:
    """Return warnings about keys of a rule that never apply because the mesh itself owns them."""
    return [
        f"{key.kind} {key.text[:80]!r} of {rule.node} has no effect: only the mesh itself writes there"
        for key in rule.alternatives()
        if key.kind in OWN
        and (key.text.startswith(SYSTEM) or (key.kind == DOMAIN and is_own_domain(key.text)))
    ]


def has_unruled(rules: Collection[Rule]) -> bool:
    """Return whether rules name masters, but not for each named domain."""
    masters = [rule for rule in rules if rule.stratum == 0]
    return bool(masters) and not any(key.kind == ANY for rule in masters for key in rule.alternatives())


def without_effect(rules: Sequence[Rule], number: int, me: str) -> list[str]:
    """Return warnings about parts of `rules[number]` that have no effect at the node `me`."""
    rule = rules[number]
    keys = tuple(rule.alternatives())
    if rule.is_rest and rule.node != me:
        return [
            f"this rule of {rule.node} without a condition applies at {rule.node} only, so it has no effect "
            f"at {me}: add a condition, or ignore this if the nodes share the file"
        ]
    takes_default = rule.accept_other_default or (rule.node == me and rule.is_master)
    if not keys and not takes_default:
        more = "; add refid to make it the parent for everything else" if rule.stratum else ""
        return [
            f"this rule of {rule.node} names no domain, key, pattern, XPath or filter, so it has no "
            f"effect{more}"
        ]
    if rule in rules[:number]:
        return [f"this rule of {rule.node} is a duplicate and has no effect"]
    if rule.node != me or rule.stratum == 0:
        return []
    closer = [each for each in rules if each.node != me and each.stratum < rule.stratum]
    return [
        (
            f"{key.kind} {key.text[:80]!r} at stratum {rule.stratum} of {me} leads nowhere: no "
            f"rule names a node of a lower stratum for it; add it to a rule of {rule.refid or 'the next hop'}"
        )
        for key in keys
        if key.kind in (EXACT, DOMAIN) and key.text and not any(_may_fit(each, key) for each in closer)
    ]


def _may_fit(rule: Rule, key: KeyRule) -> bool:
    return any(
        (each.kind, each.text) == (key.kind, key.text) or each.kind in BROAD for each in rule.alternatives()
    )


def _check_domain(domain: str) -> None:
    if domain == ANY_DOMAIN:
        return
    if ANY_DOMAIN in domain:
        what = f'The domain {domain[:80]!r} is invalid: only a whole "*" is a wildcard.'
        raise BadKey(what, hint='Name each domain, or write "*" for any.')
    check_domain(domain)


def _check_key(key: str) -> None:
    try:
        check_key(key)
    except BadKey as error:
        if not {"+", "#"}.intersection(key.split("/")):
            raise
        hint = "The keys of a rule name single topics; use patterns or a domain for many."
        raise BadKey(error.what, hint=hint) from error


CHECKS: dict[str, Callable[[str], object]] = {
    EXACT: _check_key,
    XPATH: asked,
    PATTERN: check_pattern,
    DOMAIN: _check_domain,
}
