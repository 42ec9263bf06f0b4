"""Can these be rules? Asked alike of what stands in a file and of what a mesh shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mesh.errors import BadKey
from mesh.mapping.cost import check_together
from mesh.mapping.keyxml import asked
from mesh.mapping.rules import ANY_DOMAIN, DOMAIN, EXACT, PATTERN, XPATH, KeyRule, Rule
from mesh.patterns import SYSTEM, check_pattern
from mesh.reserved import is_own_domain
from mesh.values import check_domain, check_key

OWN = frozenset((DOMAIN, EXACT, PATTERN))  # kinds that may name what is the mesh's own


def check_alternative(rule: KeyRule) -> None:
    """LocalError when it cannot be one. Its filters are not looked at: which there are is another matter."""
    check = CHECKS.get(rule.kind)
    if check is not None:
        check(rule.text)


def check_xpaths(rules: Iterable[Rule]) -> None:
    """BadXPath when all that they ask of one message may cost too much."""
    given = (key for rule in rules for key in rule.alternatives())
    check_together(asked(key.text).price for key in given if key.kind == XPATH)


def in_vain(rule: Rule) -> list[str]:
    """What it names and no rule ever decides, in words: what is the mesh's own."""
    return [
        f"{key.kind} {key.text[:80]!r} of {rule.node} never counts: only the mesh itself writes there"
        for key in rule.alternatives()
        if key.kind in OWN
        and (key.text.startswith(SYSTEM) or (key.kind == DOMAIN and is_own_domain(key.text)))
    ]


def _check_domain(domain: str) -> None:
    if domain == ANY_DOMAIN:
        return
    if ANY_DOMAIN in domain:
        what = f'domain {domain[:80]!r}: only a whole "*" is a wildcard.'
        raise BadKey(what, hint='Name each domain, or write "*" for any.')
    check_domain(domain)


def _check_key(key: str) -> None:
    try:
        check_key(key)
    except BadKey as error:
        hint = "A rule's keys are those of single topics; for many write patterns, or a domain."
        raise BadKey(error.what, hint=hint) from error


CHECKS: dict[str, Callable[[str], object]] = {
    EXACT: _check_key,
    XPATH: asked,
    PATTERN: check_pattern,
    DOMAIN: _check_domain,
}
