"""Changes of rules while other rules give a topic several masters, which must keep them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from mesh.mapping.backups import masters_of
from mesh.mapping.changing import leaves_shared
from mesh.mapping.decision import Claim
from mesh.mapping.filters import Filter
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import DOMAIN, KeyRule, Rule, has_several
from tests.mesh.mapping.views import up
from tests.seeds import scenarios

D = (Rule("a", domains=("D",)), Rule("b", domains=("D",)))
KEY = (Rule("a", keys=("k",)), Rule("b", keys=("k",)))
BACKED = (Rule("a", domains=("D",)), Rule("b", domains=("D",), backup=True))
LONG = Filter("ContentLength", "8000")


@pytest.mark.parametrize("shared", [D, BACKED, KEY, (*D, *KEY)])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((), ()),
        ((), (Rule("c", domains=("E",)),)),
        ((Rule("a", domains=("E",)),), (Rule("b", domains=("E",)),)),
        ((Rule("a", domains=("E", "F")),), (Rule("a", domains=("E",)), Rule("c", 1, ("F",), refid="a"))),
        ((Rule("c", domains=("*",)),), (Rule("a", domains=("*",)),)),
        ((), (Rule("c", filters=(LONG,)),)),
        ((), (Rule("c", given=(KeyRule(DOMAIN, "E", (LONG,)),)),)),
        ((), (Rule("c", accept_other_default=True),)),
    ],
)
def test_other_domains_have_other_rules(
    shared: tuple[Rule, ...], before: tuple[Rule, ...], after: tuple[Rule, ...]
) -> None:
    assert leaves_shared((*before, *shared), (*shared, *after))
    assert leaves_shared((*shared, *after), (*shared, *before))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (D, D[:1]),
        (D[:1], D),  # and gets none
        (D, ()),
        (BACKED, BACKED[:1]),
        (D, (*D, Rule("c", domains=("D",)))),
        (D, D[::-1]),  # the first of several gets the mark
        (D, (*D, Rule("c", 1, ("D",)))),  # another route to them
        (D, (D[0], Rule("b", domains=("D",), refid="c"))),
        (D, (*D, Rule("c", keys=("k",)))),  # takes a key of the domain
        (D, (*D, Rule("c", patterns=("k/#",)))),
        (D, (*D, Rule("c", xpaths=("//STOCK",)))),
        (D, (*D, Rule("c", given=(KeyRule(DOMAIN, "D", (LONG,)),)))),
        (KEY, KEY[:1]),
        (KEY, (*KEY, Rule("c", keys=("k",)))),
        ((*D, Rule("a", domains=("*",)), Rule("b", domains=("*",))), (*D, Rule("a", domains=("*",)))),
        ((Rule("a", patterns=("x/#",)), Rule("b", patterns=("y/#",))), ()),
        ((Rule("a", filters=(LONG,)), Rule("b", filters=(LONG,))), D),
        ((Rule("a", accept_other_default=True), Rule("b", domains=("",))), (Rule("b", domains=("",)),)),
        (
            (Rule("a", accept_other_default=True), Rule("b", accept_other_default=True)),
            (
                Rule("a", accept_other_default=True),
                Rule("b", accept_other_default=True, accept_default=False),
            ),
        ),
    ],
)
def test_what_has_several_masters_keeps_them(before: tuple[Rule, ...], after: tuple[Rule, ...]) -> None:
    assert not leaves_shared(before, after)
    assert not leaves_shared(after, before)


def test_a_key_that_has_several_leaves_patterns_and_other_keys_alone() -> None:
    assert leaves_shared(KEY, (*KEY, Rule("c", keys=("other",), patterns=("k/#",), xpaths=("//STOCK",))))


@pytest.mark.parametrize("seed", scenarios(range(60), 10))
def test_what_may_change_changes_nothing_that_has_several_masters(seed: int) -> None:
    """Any two sets of rules leave every shared key in every domain alone, if the change is allowed."""
    dice = random.Random(seed)
    for _ in range(40):
        shared = dice.choice([D, BACKED, KEY])
        before, after = ((*shared, *_drawn(dice)) for _ in range(2))
        if not leaves_shared(before, after):
            continue
        assert has_several(before) == has_several(after)
        one, other = Mapping("n", before, "local"), Mapping("n", after, "local")
        for key in ("k", "k/1", "x"):
            for domain in ("", "D", "E", "F"):
                claims, others = one.claims(key, domain), other.claims(key, domain)
                if _are_several(claims) or _are_several(others):
                    assert others == claims
                    view = up("a", "b", "c")
                    assert one.decide(key, domain, view) == other.decide(key, domain, view)


def _are_several(claims: Sequence[Claim]) -> bool:
    return len(masters_of(claims)) > 1 or any(claim.is_backup for claim in claims)


def _drawn(dice: random.Random) -> list[Rule]:
    """Return up to three random rules of all kinds."""
    found = []
    for _ in range(dice.randint(0, 3)):
        node, stratum = dice.choice("abc"), dice.choice((0, 0, 1))
        kind = dice.choice(("domains", "domains", "domains", "keys", "patterns"))
        text = dice.choice(
            {"domains": ("E", "F", "*", "", "D"), "keys": ("x", "k"), "patterns": ("k/#",)}[kind]
        )
        what: dict[str, Any] = {kind: (text,)}
        found.append(Rule(node, stratum, **what))
    return found
