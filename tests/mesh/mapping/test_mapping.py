"""The rules that decide about a message, and its next hop among the nodes that they name."""

import pytest

from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from tests.mesh.mapping.views import FakeView, down, up, walk

HERE, FORWARD, WAIT, REFUSE = Kind.HERE, Kind.FORWARD, Kind.WAIT, Kind.REFUSE
ALL = up("exact", "named", "star", "heron", "frodo", "avalon", "golan")


def decided(rules: list[Rule], view: FakeView = ALL, me: str = "bilbo", visited: tuple[str, ...] = ()) -> str:
    """Return the decision on key k in domain D: "here", or the kind and the node."""
    decision = Mapping(me, rules).decide("k", "D", view, visited)
    return f"{decision.kind.value} {decision.node}".strip()


# --- the most specific rules decide alone -----------------------------------------------------------


EXACT, NAMED, STAR = Rule("exact", keys=("k",)), Rule("named", domains=("D",)), Rule("star", domains=("*",))


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([STAR, NAMED, EXACT], "forward exact"),
        ([STAR, NAMED], "forward named"),
        ([STAR], "forward star"),
        ([EXACT, STAR], "forward exact"),
        ([], "here"),
        ([Rule("named", domains=("E",)), Rule("exact", keys=("l",))], "here"),
        ([Rule("named", domains=("E",)), STAR], "forward star"),
    ],
)
def test_key_before_domain_before_any_domain(rules: list[Rule], expected: str) -> None:
    assert decided(rules) == expected


def test_a_closer_or_living_node_of_a_less_specific_rule_does_not_count() -> None:
    rules = [Rule("exact", 3, keys=("k",)), NAMED, STAR]
    assert decided(rules) == "forward exact"
    assert decided(rules, FakeView({"exact", "named", "star"}, {"named", "star"})) == "wait exact"
    assert decided(rules, up("named", "star")) == "wait exact"


def test_the_rule_of_a_key_counts_in_every_domain_and_without_one() -> None:
    mapping = Mapping("bilbo", [EXACT, NAMED])
    assert [mapping.decide("k", domain, ALL).node for domain in ("", "D", "E")] == ["exact"] * 3


def test_any_domain_is_any_named_one() -> None:
    mapping = Mapping("bilbo", [STAR])
    assert mapping.decide("k", "E", ALL).node == "star"
    assert mapping.decide("k", "", ALL).kind is HERE


def test_one_rule_may_name_domains_and_keys() -> None:
    mapping = Mapping("bilbo", [Rule("heron", domains=("D", "E"), keys=("k", "l"))])
    for key, domain in (("k", ""), ("l", "F"), ("m", "D"), ("m", "E")):
        assert mapping.decide(key, domain, ALL).node == "heron"
    assert mapping.decide("m", "F", ALL).kind is HERE


def test_the_answer_says_which_rule_decided() -> None:
    mapping = Mapping("bilbo", [EXACT, Rule("named", 2, ("D",)), STAR])
    whys = [mapping.decide(k, d, ALL).why for k, d in (("k", ""), ("m", "D"), ("m", "E"))]
    assert whys == ["EXACT k, stratum 0", "DOMAIN D, stratum 2", "DOMAIN *, stratum 0"]


def test_without_rules_each_node_is_master_and_its_answer_is_the_same_however_often_it_is_asked() -> None:
    assert Mapping("bilbo").is_plain
    assert not Mapping("bilbo", [STAR]).is_plain
    assert not Mapping("bilbo", scope="local").is_plain
    mapping = Mapping("bilbo", [EXACT])
    assert mapping.decide("k", "", ALL) == mapping.decide("k", "", ALL)
    assert mapping.decide("k", "", down("exact")).kind is WAIT, "what is remembered is the rule, not the view"


# --- masters and next hops --------------------------------------------------------------------------


def claim(node: str, stratum: int = 0, refid: str = "") -> Rule:
    return Rule(node, stratum, ("D",), refid=refid)


def test_the_master_keeps_it() -> None:
    assert decided([claim("bilbo"), claim("heron")]) == "here"


def test_a_lower_stratum_is_closer() -> None:
    assert decided([claim("frodo", 2), claim("avalon", 1)]) == "forward avalon"


def test_who_is_alive_comes_before_who_is_closer() -> None:
    view = FakeView({"heron", "frodo"}, {"frodo"})
    assert decided([claim("heron"), claim("frodo", 4)], view) == "forward frodo"


def test_its_parent_comes_before_who_is_closer() -> None:
    rules = [claim("bilbo", 3, refid="frodo"), claim("heron"), claim("frodo", 2)]
    assert decided(rules) == "forward frodo"


def test_a_living_node_comes_before_a_parent_that_is_away() -> None:
    rules = [claim("bilbo", 3, refid="frodo"), claim("heron"), claim("frodo", 2)]
    assert decided(rules, FakeView({"heron", "frodo"}, {"heron"})) == "forward heron"


def test_while_all_are_away_it_waits_for_its_parent() -> None:
    rules = [claim("bilbo", 3, refid="frodo"), claim("heron"), claim("frodo", 2)]
    assert decided(rules, down("heron", "frodo")) == "wait frodo"
    assert decided(rules[1:], down("heron", "frodo")) == "wait heron"


def test_the_parent_of_another_node_is_not_ones_own() -> None:
    rules = [claim("bilbo", 3), claim("heron"), claim("frodo", 2), claim("golan", 3, refid="frodo")]
    assert decided(rules) == "forward heron"


def test_among_equals_the_first_rule_decides() -> None:
    assert decided([claim("golan"), claim("avalon"), claim("heron")]) == "forward golan"
    view = FakeView({"golan", "avalon", "heron"}, {"avalon", "heron"})
    assert decided([claim("golan"), claim("avalon"), claim("heron")], view) == "forward avalon"


@pytest.mark.parametrize("stratum", [1, 2])
def test_it_never_goes_to_a_stratum_equal_to_or_above_ones_own(stratum: int) -> None:
    rules = [claim("bilbo", 1, refid="frodo"), claim("frodo", stratum), claim("heron")]
    assert decided(rules) == "forward heron"
    assert decided(rules, FakeView({"frodo", "heron"}, {"frodo"})) == "wait heron"
    assert decided(rules, up("frodo")) == "wait heron"
    assert decided(rules[:2]) == "wait", "nobody is named for whom it could wait"


# --- known and unknown nodes --------------------------------------------------------------------------


def test_it_waits_for_a_node_that_is_not_known() -> None:
    decision = Mapping("bilbo", [claim("heron"), claim("frodo", 1)]).decide("k", "D", up("golan"))
    assert decision == Decision(WAIT, "heron, frodo: unknown here", "heron")


def test_a_known_way_comes_before_an_unknown_master() -> None:
    rules = [claim("heron"), claim("frodo", 1)]
    assert decided(rules, up("frodo")) == "forward frodo"
    assert decided(rules, down("frodo")) == "wait frodo"


# --- nodes that had the message -------------------------------------------------------------------------


def test_where_it_has_been_it_never_goes_again() -> None:
    rules = [claim("heron"), claim("frodo", 1)]
    assert decided(rules, visited=("heron",)) == "forward frodo"
    assert decided(rules, FakeView({"heron", "frodo"}, {"heron"}), visited=("heron",)) == "wait frodo"


def test_a_circle_is_refused_with_the_path() -> None:
    decision = Mapping("bilbo", [claim("heron")]).decide("k", "D", ALL, ("heron", "frodo"))
    assert (decision.kind, decision.code, decision.node) == (REFUSE, "CIRCULAR_LOOP", "heron")
    assert decision.why == "routing loop: heron -> frodo -> bilbo -> heron"


def test_this_node_is_printed_once_when_it_is_on_the_path_already() -> None:
    decision = Mapping("bilbo", [claim("heron")]).decide("k", "D", ALL, ("heron", "bilbo"))
    assert decision.why == "routing loop: heron -> bilbo -> heron"


def test_A28_two_nodes_that_each_name_the_other() -> None:
    rules = {"X": [claim("Y")], "Y": [claim("X")]}
    path, decision = walk(
        "X", rules.__getitem__, lambda node: up("X", "Y"), lambda m, v, p: m.decide("k", "D", v, p)
    )
    assert path == ["X", "Y"], "each was visited once"
    assert (decision.kind, decision.code) == (REFUSE, "CIRCULAR_LOOP")
    assert "X -> Y -> X" in decision.why


# --- a slave for everything else ---------------------------------------------------------------------


REST = Rule("bilbo", 2, refid="frodo")


@pytest.mark.parametrize("domain", ["", "D", "E"])
@pytest.mark.parametrize("scope", ["mesh", "local"])
def test_42_the_parent_of_a_rule_without_a_condition_gets_what_no_other_rule_matches(
    domain: str, scope: str
) -> None:
    mapping = Mapping("bilbo", [REST], scope)
    assert mapping.decide("k", domain, ALL).node == "frodo"
    assert mapping.decide("k", domain, down("frodo")).kind is WAIT
    assert mapping.decide("k", domain, ALL, ["frodo"]).code == "CIRCULAR_LOOP"
    [sources] = [mapping.sources("exact", "k", domain, ALL)]
    assert sources.hops == ("frodo",) and not sources.everyone
    assert mapping.named_domains() == ("*",) and mapping.of_domain("E", ALL)[1].node == "frodo"


@pytest.mark.parametrize("rule", [EXACT, NAMED, STAR, Rule("star", patterns=("#",))])
def test_42_each_rule_with_a_condition_counts_before_one_without(rule: Rule) -> None:
    assert decided([REST, rule]) == f"forward {rule.node}"


def test_42_a_rule_without_a_condition_counts_at_its_own_node_only_and_never_for_the_mesh_itself() -> None:
    assert decided([REST], me="frodo") == "here"
    mapping = Mapping("bilbo", [REST])
    assert mapping.decide("__sys__deadMessage/1", "", ALL).kind is HERE
    assert mapping.decide("k", "queue/jobs", ALL).kind is HERE
    assert mapping.decide("k", "", ALL).to_master is False
    assert Mapping("bilbo", [Rule("bilbo", 1, refid="frodo")]).decide("k", "", ALL).to_master


def test_42_a_master_of_a_slave_for_everything_else_keeps_its_own() -> None:
    mapping = Mapping("bilbo", [REST, Rule("bilbo", domains=("D",))], "local")
    assert mapping.decide("k", "D", ALL).kind is HERE
    assert mapping.decide("k", "E", ALL).node == "frodo"
