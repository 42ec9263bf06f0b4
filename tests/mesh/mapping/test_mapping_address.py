"""Routes of messages that are addressed to a client or session."""

import pytest

from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.names import SessionName
from tests.mesh.mapping.views import FakeView, down, up, walk

HERE, FORWARD, WAIT, REFUSE = Kind.HERE, Kind.FORWARD, Kind.WAIT, Kind.REFUSE
RUGBY = "RUGBY_NEWS"
RULES = (Rule("avalon", domains=(RUGBY,)),)
ALL = up("heron", "avalon")
NOEXIST, HERON = "/node/noexist/client/joe/session/1", "/node/heron/client/joe/session/1"
RELATIVE = "client/joe/session/1"


def addressed(
    to: str,
    domain: str = "",
    view: FakeView = ALL,
    rules: tuple[Rule, ...] = RULES,
    visited: tuple[str, ...] = (),
    force: bool = False,
    scope: str = "mesh",
) -> Decision:
    """Return the decision of node N."""
    return Mapping("N", rules, scope).address(SessionName.parse(to), domain, view, visited, force)


def way(to: str, domain: str = "", force: bool = False, scope: str = "mesh") -> tuple[list[str], Decision]:
    """Return the path from N and the last decision. All have RULES; N, heron and avalon know each other."""

    def decide(mapping: Mapping, view: FakeView, path: list[str]) -> Decision:
        return mapping.address(SessionName.parse(to), domain, view, path, force)

    return walk("N", lambda node: RULES, lambda node: up("N", "heron", "avalon"), decide, scope)


# --- the five rows of the table -------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["mesh", "local"])
def test_A20_no_domain_and_a_node_that_is_not_there_is_handled_here(scope: str) -> None:
    path, decision = way(NOEXIST, scope=scope)
    assert (path, decision.kind, decision.code) == (["N"], REFUSE, "UNKNOWN_NODE")
    assert decision.why == "no node noexist can be reached from N"
    path, decision = way(NOEXIST, force=True, scope=scope)
    assert (path, decision) == (["N"], Decision(WAIT, "node noexist is unknown", "noexist"))


def test_A21_a_domain_and_a_node_that_is_not_there_goes_to_the_master_of_the_domain() -> None:
    to_avalon = Decision(FORWARD, "DOMAIN RUGBY_NEWS, stratum 0", "avalon", to_master=True)
    assert addressed(NOEXIST, RUGBY) == to_avalon
    path, decision = way(NOEXIST, RUGBY)
    assert (path, decision.kind, decision.code) == (["N", "avalon"], REFUSE, "UNKNOWN_NODE")
    path, decision = way(NOEXIST, RUGBY, force=True)
    assert (path, decision.kind, decision.node) == (["N", "avalon"], WAIT, "noexist")


def test_A22_no_domain_and_a_node_that_is_known_goes_there() -> None:
    assert addressed(HERON) == Decision(FORWARD, "addressed to it", "heron")
    path, decision = way(HERON)
    assert (path, decision.kind) == (["N", "heron"], HERE)


def test_A23_a_domain_and_a_node_that_is_known_goes_there_and_its_master_sees_nothing() -> None:
    path, decision = way(HERON, RUGBY)
    assert (path, decision.kind) == (["N", "heron"], HERE)


def test_A24_a_domain_and_a_relative_name_goes_to_the_master_of_the_domain() -> None:
    path, decision = way(RELATIVE, RUGBY)
    assert (path, decision.kind) == (["N", "avalon"], HERE)


def test_A25_a_relative_name_without_a_rule_stays_here() -> None:
    for domain in ("", "SOCCER_NEWS"):
        for force in (False, True):
            assert addressed(RELATIVE, domain, force=force).kind is HERE


# --- an address with a node -------------------------------------------------------------------------------


def test_what_is_addressed_to_this_node_is_here_whatever_the_rules_say() -> None:
    assert addressed("/node/N/client/joe", RUGBY).kind is HERE
    assert addressed("/node/N/client/joe", RUGBY, visited=("N", "avalon")).kind is HERE


def test_for_a_known_node_that_is_away_it_waits_whether_that_was_asked_for_or_not() -> None:
    view = FakeView({"heron", "avalon"}, {"avalon"})
    for domain in ("", RUGBY):
        for force in (False, True):
            assert addressed(HERON, domain, view, force=force) == Decision(WAIT, "addressed to it", "heron")


def test_a_node_that_only_a_neighbour_knows_is_reached_by_it() -> None:
    view = FakeView({"frodo", "avalon"}, {"frodo", "avalon"}, {"heron": "frodo"})
    for domain in ("", RUGBY):
        assert addressed(HERON, domain, view) == Decision(FORWARD, "the route to heron", "frodo")


def test_a_node_that_is_known_itself_needs_no_way() -> None:
    view = FakeView({"heron"}, set(), {"heron": "frodo"})
    assert addressed(HERON, view=view).kind is WAIT


@pytest.mark.parametrize("view", [ALL, down("heron"), FakeView(set(), set(), {"heron": "heron"})])
def test_a_node_where_it_has_been_is_refused_with_the_path(view: FakeView) -> None:
    decision = addressed(HERON, view=view, visited=("heron", "golan"))
    assert (decision.kind, decision.code) == (REFUSE, "CIRCULAR_LOOP")
    assert decision.why.endswith("heron -> golan -> N -> heron")


def test_neighbours_that_each_take_the_other_for_the_way_do_not_play_ball() -> None:
    ways = {"N": FakeView({"M"}, {"M"}, {"heron": "M"}), "M": FakeView({"N"}, {"N"}, {"heron": "N"})}
    path, decision = walk(
        "N", lambda node: (), ways.__getitem__, lambda m, v, p: m.address(SessionName.parse(HERON), "", v, p)
    )
    assert (path, decision.code) == (["N", "M"], "CIRCULAR_LOOP")


# --- the domain's master ------------------------------------------------------------------------------


@pytest.mark.parametrize("to", [RELATIVE, NOEXIST])
def test_a_master_that_is_away_or_not_known_is_waited_for(to: str) -> None:
    to_avalon = Decision(WAIT, "DOMAIN RUGBY_NEWS, stratum 0", "avalon", to_master=True)
    assert addressed(to, RUGBY, down("avalon")) == to_avalon
    assert addressed(to, RUGBY, up("heron")) == Decision(WAIT, "avalon: unknown here", "avalon")


def test_where_this_node_is_the_master_a_relative_name_is_here_and_an_unknown_node_unknown() -> None:
    rules = (Rule("N", domains=(RUGBY,)),)
    assert addressed(RELATIVE, RUGBY, rules=rules).kind is HERE
    assert addressed(NOEXIST, RUGBY, rules=rules).code == "UNKNOWN_NODE"
    assert addressed(NOEXIST, RUGBY, rules=rules, force=True).kind is WAIT


def test_the_rules_of_any_domain_count_and_those_of_keys_do_not() -> None:
    rules = (Rule("heron", keys=("joe", "")), Rule("avalon", domains=("*",)))
    assert addressed(RELATIVE, "SOCCER_NEWS", rules=rules).node == "avalon"
    assert addressed(RELATIVE, "", rules=rules).kind is HERE
    assert addressed(RELATIVE, "SOCCER_NEWS", rules=rules[:1]).kind is HERE


def test_scope_local_a_relative_name_in_a_domain_without_a_rule_stays_here_too() -> None:
    assert addressed(RELATIVE, "SOCCER_NEWS", scope="local").kind is HERE


def test_domain_rules_in_a_circle_refuse_a_relative_name() -> None:
    decision = addressed(RELATIVE, RUGBY, visited=("avalon",))
    assert (decision.kind, decision.code) == (REFUSE, "CIRCULAR_LOOP")
