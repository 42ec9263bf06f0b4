"""The fields by which a rule matches, and rules that may match the same message."""

import pytest

from mesh.mapping.filters import Filter
from mesh.mapping.rules import (
    ANY,
    DOMAIN,
    EXACT,
    FILTER,
    PATTERN,
    XPATH,
    KeyRule,
    Rule,
    has_several,
    standing_in,
)

LONG = Filter("ContentLength", "8000")


def test_a_rule_fits_by_each_of_its_keys() -> None:
    rule = Rule(
        "a", 0, ("D", "*", ""), ("k",), patterns=("p/#",), xpaths=("//X",), filters=(LONG,),
        given=(KeyRule(DOMAIN, "*", (LONG,)), KeyRule(EXACT, "g", (LONG,))),
    )  # fmt: skip
    assert list(rule.alternatives()) == [
        KeyRule(EXACT, "k"),
        KeyRule(XPATH, "//X"),
        KeyRule(PATTERN, "p/#"),
        KeyRule(DOMAIN, "D"),
        KeyRule(ANY),
        KeyRule(DOMAIN),
        KeyRule(FILTER, "", (LONG,)),
        KeyRule(ANY, "", (LONG,)),
        KeyRule(EXACT, "g", (LONG,)),
    ]


def test_a_rule_with_another_mapper_fits_by_that_alone() -> None:
    [only] = Rule("a", keys=("k",), mapper="Mine", told="x").alternatives()
    assert (only.kind, [(each.type, each.text) for each in only.filters]) == (FILTER, [("Mine", "x")])


def test_a_backup_stands_in_for_what_a_node_is_master_of() -> None:
    master, way = Rule("a", domains=("D",)), Rule("a", 1, ("E",))
    backup = Rule("b", domains=("F",), backup=True)
    assert standing_in("c", (master, way, backup)) == (Rule("c", domains=("D",), backup=True),)
    assert [rule.is_master for rule in (master, way, backup)] == [True, False, False]


@pytest.mark.parametrize(
    ("one", "other", "several"),
    [
        (Rule("a", domains=("D",)), Rule("b", domains=("D",)), True),
        (Rule("a", domains=("D",)), Rule("b", domains=("E",)), False),
        (Rule("a", domains=("D",)), Rule("a", domains=("D",)), False),
        (Rule("a", domains=("D",)), Rule("b", 1, ("D",)), False),
        (Rule("a", patterns=("x/#",)), Rule("b", patterns=("y/#",)), True),
        (Rule("a", accept_other_default=True), Rule("b", domains=("",)), True),
        (Rule("a", domains=("D",)), Rule("b", keys=("k",)), False),
    ],
)
def test_several_masters_are_possible_where_two_nodes_fit_by_the_same_kind(
    one: Rule, other: Rule, several: bool
) -> None:
    assert has_several((one, other)) is has_several((other, one)) is several
