"""The nodes that a node asks for what a query matches."""

import pytest

from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from tests.mesh.mapping.views import FakeView, down, up

ALL = up("heron", "frodo", "avalon", "golan")
Asked = tuple[tuple[str, ...], bool]  # (nodes that rules name, whether all are asked)
EVERYONE: Asked = ((), True)
NOBODY: Asked = ((), False)
RULES = (
    Rule("heron", domains=("SPORT",)),
    Rule("avalon", keys=("stock/ibm", "stock/sun")),
    Rule("golan", keys=("radar/status",)),
)


def asked(
    kind: str,
    text: str,
    domain: str = "",
    scope: str = "mesh",
    rules: tuple[Rule, ...] = RULES,
    view: FakeView = ALL,
    me: str = "bilbo",
) -> Asked:
    sources = Mapping(me, rules, scope).sources(kind, text, domain, view)
    return sources.hops, sources.everyone


@pytest.mark.parametrize(
    ("kind", "text", "domain", "mesh", "local"),
    [
        ("exact", "a", "", EVERYONE, NOBODY),
        ("exact", "a", "SPORT", (("heron",), False), (("heron",), False)),
        ("exact", "a", "NEWS", EVERYONE, NOBODY),
        ("exact", "stock/ibm", "", (("avalon",), False), (("avalon",), False)),
        ("exact", "stock/ibm", "SPORT", (("avalon",), False), (("avalon",), False)),
        ("pattern", "a/#", "", EVERYONE, NOBODY),
        ("pattern", "a/#", "SPORT", (("heron",), False), (("heron",), False)),
        ("pattern", "a/#", "NEWS", EVERYONE, NOBODY),
        ("pattern", "stock/+", "", (("avalon",), True), (("avalon",), False)),
        ("pattern", "stock/+", "SPORT", (("avalon", "heron"), False), (("avalon", "heron"), False)),
        ("pattern", "stock/+", "NEWS", (("avalon",), True), (("avalon",), False)),
        ("pattern", "#", "", (("golan", "avalon"), True), (("golan", "avalon"), False)),
        (
            "pattern",
            "#",
            "SPORT",
            (("golan", "avalon", "heron"), False),
            (("golan", "avalon", "heron"), False),
        ),
    ],
)
def test_whom_to_ask(kind: str, text: str, domain: str, mesh: Asked, local: Asked) -> None:
    assert asked(kind, text, domain) == mesh
    assert asked(kind, text, domain, "local") == local


def test_without_rules_everyone_is_asked_or_nobody() -> None:
    for kind, text in (("exact", "a"), ("pattern", "#")):
        for domain in ("", "SPORT"):
            assert asked(kind, text, domain, rules=()) == EVERYONE
            assert asked(kind, text, domain, "local", rules=()) == NOBODY


def test_a_master_asks_nobody_else_for_its_own_domain_and_keys() -> None:
    assert asked("exact", "a", "SPORT", me="heron") == NOBODY
    assert asked("pattern", "#", "SPORT", me="heron") == (("golan", "avalon"), False)
    assert asked("exact", "stock/ibm", me="avalon") == NOBODY
    assert asked("pattern", "stock/#", me="avalon") == EVERYONE


def test_the_rule_of_any_domain_counts_for_a_query_with_one() -> None:
    rules = (Rule("heron", domains=("*",)),)
    assert asked("pattern", "#", "NEWS", rules=rules) == (("heron",), False)
    assert asked("pattern", "#", "", rules=rules) == EVERYONE


def test_the_way_is_asked_that_a_message_would_take() -> None:
    rules = (Rule("bilbo", 2, ("SPORT",), refid="frodo"), Rule("frodo", 1, ("SPORT",)), *RULES)
    assert asked("exact", "a", "SPORT", rules=rules) == (("frodo",), False)
    frodo_away = FakeView({"frodo", "heron"}, {"heron"})
    assert asked("exact", "a", "SPORT", rules=rules, view=frodo_away) == (("heron",), False)


def test_who_is_away_or_not_known_is_named_too_for_it_may_come() -> None:
    for view in (down("heron", "frodo"), up()):
        assert asked("exact", "a", "SPORT", view=view) == (("heron",), False)


def test_several_keys_of_one_node_name_it_once() -> None:
    rules = (Rule("avalon", keys=("a/1", "a/2"), domains=("SPORT",)), Rule("heron", keys=("a/3",)))
    assert asked("pattern", "a/+", "SPORT", rules=rules) == (("avalon", "heron"), False)


# --- scope local, without a domain -------------------------------------------------------------------------


TAKES_OTHERS = Rule("heron", domains=("SPORT",), accept_other_default=True)


def test_scope_local_a_node_that_keeps_its_own_asks_nobody_for_what_has_no_domain() -> None:
    assert asked("pattern", "#", "", "local", (TAKES_OTHERS,)) == NOBODY


def test_scope_local_a_node_that_sends_its_own_on_asks_where_it_sends_them() -> None:
    rules = (TAKES_OTHERS, Rule("bilbo", domains=("NEWS",), accept_default=False))
    for kind, text in (("exact", "a"), ("pattern", "#")):
        assert asked(kind, text, "", "local", rules) == (("heron",), False)
        assert asked(kind, text, "", "local", rules[1:]) == NOBODY


def test_all_whom_a_query_may_lead_to_some_day_are_those_nearer_to_the_master() -> None:
    rules = (
        Rule("bilbo", 2, ("SPORT",)),
        *(Rule(node, stratum, ("SPORT",)) for node, stratum in (("frodo", 1), ("golan", 1), ("sam", 2))),
        Rule("avalon", keys=("stock/ibm",)),
    )
    mapping = Mapping("bilbo", rules, "mesh")
    assert mapping.all_masters("exact", "a", "SPORT") == {"frodo", "golan"}
    assert mapping.all_masters("pattern", "stock/#", "SPORT") == {"frodo", "golan", "avalon"}
    assert mapping.all_masters("exact", "a", "") == mapping.all_masters("exact", "a", "OTHER") == set()
    backed = (Rule("heron", domains=("SPORT",)), Rule("frodo", domains=("SPORT",), backup=True))
    assert Mapping("bilbo", backed, "mesh").all_masters("exact", "a", "SPORT") == {"heron", "frodo"}
