"""Rules that `without_effect` reports, because they never decide."""

from mesh.mapping.checking import has_unruled, without_effect
from mesh.mapping.filters import Filter
from mesh.mapping.rules import Rule
from tests.each import each

HERE, WAY = Rule("heron", domains=("RUGBY",)), Rule("heron", 1, ("RUGBY",))
OTHER = Rule("avalon", domains=("RUGBY",))


@each(
    "case",
    (
        ((Rule("avalon"),), 0, "names no domain, key, pattern, XPath or filter"),
        ((Rule("heron", 1),), 0, "add refid to make it the parent for everything else"),
        ((Rule("avalon", 1, refid="heron"),), 0, "applies at avalon only, so it has no effect at heron: add"),
        ((Rule("heron", 1, ("RUGBY",), refid="frodo"),), 0, "leads nowhere: no rule names a node of a lower"),
        ((Rule("heron", 1, ("RUGBY",), refid="frodo"),), 0, "add it to a rule of frodo"),
        ((OTHER, HERE, OTHER), 2, "is a duplicate"),
        ((WAY,), 0, "DOMAIN 'RUGBY' at stratum 1 of heron leads nowhere"),
        ((WAY, Rule("avalon", 1, ("RUGBY",))), 0, "leads nowhere"),
        ((Rule("heron", 1, keys=("a",)), OTHER), 0, "EXACT 'a' at stratum 1"),
        ((WAY, Rule("avalon", domains=("SOCCER",))), 0, "leads nowhere"),
    ),
)
def test_a_rule_without_effect_is_told(case: tuple[tuple[Rule, ...], int, str]) -> None:
    rules, number, says = case
    [told] = without_effect(rules, number, "heron")
    assert says in told


@each(
    "rules",
    (
        (Rule("heron"),),  # takes its own clients' messages without a domain
        (Rule("avalon", accept_other_default=True),),
        (HERE, OTHER),
        (WAY, OTHER),
        (WAY, Rule("avalon", domains=("*",))),
        (WAY, Rule("avalon", filters=(Filter("ContentLength", "9"),))),
        (Rule("heron", 1, refid="frodo"),),
        (Rule("heron", 1, ("RUGBY",), refid="frodo"), Rule("frodo", domains=("RUGBY",))),
        (Rule("frodo", 1, ("RUGBY",)),),
        (Rule("heron", 2, ("RUGBY",)), Rule("avalon", 1, ("RUGBY",))),
    ),
)
def test_a_rule_that_may_decide_is_not(rules: tuple[Rule, ...]) -> None:
    assert [without_effect(rules, number, "heron") for number in range(len(rules))] == [[]] * len(rules)


@each(
    "case",
    (
        ((), False),
        ((WAY,), False),
        ((HERE,), True),
        ((HERE, Rule("avalon", domains=("*",))), False),
        ((HERE, Rule("avalon", 1, domains=("*",))), True),
    ),
)
def test_domains_without_a_rule_are_reported_only_beside_others_with_one(
    case: tuple[tuple[Rule, ...], bool],
) -> None:
    rules, expected = case
    assert has_unruled(rules) is expected
