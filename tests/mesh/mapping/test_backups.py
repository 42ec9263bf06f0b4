"""Rules with backup masters: the nodes that accept messages or are asked, while nodes are unreachable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.mapping.decision import Decision, Kind, Use
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.names import SessionName
from tests.mesh.envelopes import envelope
from tests.mesh.mapping.views import FakeView, down

HERE, FORWARD, WAIT, REFUSE = Kind.HERE, Kind.FORWARD, Kind.WAIT, Kind.REFUSE
HERON = Rule("heron", domains=("D",))
FRODO, GOLAN = Rule("frodo", domains=("D",), backup=True), Rule("golan", domains=("D",), backup=True)
RULES = (HERON, FRODO, GOLAN)
NAMES = ("heron", "frodo", "golan", "bilbo")


def view(*away: str) -> FakeView:
    return mixed([name for name in NAMES if name not in away], away)


def mixed(alive: Iterable[str], away: Iterable[str]) -> FakeView:
    return FakeView({*alive, *away}, set(alive))


def decided(
    me: str, *away: str, visited: tuple[str, ...] = (), is_copy: bool = False, rules: tuple[Rule, ...] = RULES
) -> Decision:
    return Mapping(me, rules).decide("k", "D", view(*away), visited, "a stream", is_copy)


# --- too few nodes ------------------------------------------------------------------------------------


def with_least(rule: Rule, least: int) -> Rule:
    return replace(rule, min_nodes=least)


def test_a_backup_that_reaches_too_few_nodes_takes_nothing() -> None:
    rules = (HERON, with_least(FRODO, 3))
    enough = Mapping("frodo", rules).decide("k", "D", view("frodo", "heron"))
    assert (enough.kind, enough.stands_for) == (HERE, ("heron",))
    few = Mapping("frodo", rules).decide("k", "D", view("frodo", "heron", "golan"))
    assert (few.kind, few.hops) == (WAIT, ("",))
    assert few.why.endswith("because heron cannot be reached, but 2 of at least 3 nodes are reachable")


def test_a_master_that_reaches_too_few_nodes_keeps_messages_until_it_reaches_more() -> None:
    rules = (with_least(HERON, 3), FRODO)
    assert Mapping("heron", rules).decide("k", "D", view("heron", "golan")).kind is HERE
    decision = Mapping("heron", rules).decide("k", "D", view("heron", "golan", "bilbo"))
    assert (decision.kind, decision.hops) == (WAIT, ("",))
    assert decision.why == "DOMAIN D, stratum 0: master, but 2 of at least 3 nodes are reachable"
    assert Mapping("bilbo", rules).decide("k", "D", view("bilbo", "golan")).hops == ("heron",)


# --- publishing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("me", ["bilbo", "frodo", "golan"])
def test_while_the_master_is_there_backups_take_nothing(me: str) -> None:
    decision = decided(me)
    assert (decision.kind, decision.hops, decision.to_master) == (FORWARD, ("heron",), True)
    assert decision.why == "DOMAIN D, stratum 0"


def test_the_master_takes_it_whoever_is_away() -> None:
    decision = decided("heron", "frodo", "golan")
    assert (decision.kind, decision.copies, decision.stands_for) == (HERE, (), ())


def test_while_it_is_away_the_first_backup_that_is_there_takes_it_alone() -> None:
    assert decided("bilbo", "heron").hops == ("frodo",)
    assert decided("bilbo", "heron", "frodo").hops == ("golan",)
    decision = decided("frodo", "heron")
    assert (decision.kind, decision.copies, decision.stands_for) == (HERE, (), ("heron",))
    assert decision.why == "DOMAIN D, as backup, because heron cannot be reached"
    assert decided("golan", "heron", "frodo").stands_for == ("heron",)
    assert decided("golan", "heron").hops == ("frodo",)


def test_a_backup_that_has_just_started_takes_nothing_yet() -> None:
    early = view("heron", "frodo")
    early.settled = False
    mapping = Mapping("golan", RULES)
    assert mapping.decide("k", "D", early).kind is WAIT
    early.settled = True
    assert mapping.decide("k", "D", early).kind is HERE


def test_a_backup_that_sees_the_master_hands_on_what_others_send_it_as_to_a_master() -> None:
    decision = decided("frodo", visited=("bilbo",), is_copy=True)
    assert (decision.kind, decision.hops) == (FORWARD, ("heron",))


def test_a_master_takes_what_a_backup_hands_on() -> None:
    decision = decided("heron", visited=("bilbo", "frodo"), is_copy=True)
    assert (decision.kind, decision.stands_for) == (HERE, ())


def test_with_nobody_there_it_waits_for_the_master() -> None:
    decision = decided("bilbo", "heron", "frodo", "golan")
    assert (decision.kind, decision.hops) == (WAIT, ("heron",))


def test_a_way_that_is_there_comes_before_a_backup() -> None:
    rules = (HERON, Rule("avalon", 1, ("D",)), FRODO)
    view = mixed(("avalon", "frodo"), ("heron",))
    assert Mapping("bilbo", rules).decide("k", "D", view).hops == ("avalon",)
    # That next hop does not forward to a backup.
    view = mixed(("frodo",), ("heron",))
    assert Mapping("avalon", rules).decide("k", "D", view, ("bilbo",)).hops == ("frodo",)


def test_of_several_masters_one_is_enough_to_keep_backups_away() -> None:
    rules = (HERON, Rule("avalon", domains=("D",)), FRODO)
    some = Mapping("bilbo", rules).decide("k", "D", mixed(("avalon", "frodo"), ("heron",)))
    assert set(some.hops) == {"heron", "avalon"}
    none = Mapping("frodo", rules).decide("k", "D", down("heron", "avalon"))
    assert (none.kind, none.stands_for) == (HERE, ("heron", "avalon"))


def test_a_letter_waits_for_the_master_whoever_stands_in() -> None:
    to = SessionName.parse("client/joe")
    assert Mapping("bilbo", RULES).address(to, "D", view("heron")).hops == ("heron",)
    assert Mapping("frodo", RULES).address(to, "D", view("heron")).kind is WAIT


# --- queries --------------------------------------------------------------------------------------------


def sources(me: str, use: Use, *away: str) -> tuple[str, ...]:
    return Mapping(me, RULES).sources("exact", "k", "D", view(*away), use).hops


@pytest.mark.parametrize("away", [(), ("heron",), ("heron", "frodo"), ("frodo",)])
def test_messages_are_asked_for_of_all_who_may_ever_take_them(away: tuple[str, ...]) -> None:
    assert set(sources("bilbo", Use.SUBSCRIBE, *away)) == {"heron", "frodo", "golan"}


def test_values_are_asked_for_of_who_would_take_one_now_and_erased_there() -> None:
    for use in (Use.GET, Use.ERASE):
        assert sources("bilbo", use) == ("heron",)
        assert sources("bilbo", use, "heron") == ("frodo",)
        assert sources("frodo", use) == ("heron",)
        assert sources("frodo", use, "heron") == ()


def test_masters_and_backups_ask_each_other_for_all_that_they_may_take() -> None:
    for me in ("heron", "frodo", "golan"):
        others = {"heron", "frodo", "golan"} - {me}
        assert set(Mapping(me, RULES).partners("pattern", "#", "D")) == others
    assert Mapping("bilbo", RULES).partners("pattern", "#", "D") == ()
    assert Mapping("heron", RULES).partners("pattern", "#", "other") == ()
    both = (HERON, Rule("avalon", domains=("D",)))
    assert Mapping("heron", both).partners("pattern", "#", "D") == (), "they have all copies"


def test_durable_subscriptions_take_messages_at_all_of_them() -> None:
    nodes, _ = Mapping("bilbo", RULES).accepting("exact", "k", "D")
    assert set(nodes) == {"heron", "frodo", "golan"}


def test_holders_are_masters_and_backups_and_masters_are_no_backups() -> None:
    mapping, e = Mapping("bilbo", RULES), envelope("k", domain="D")
    assert (mapping.masters("k", e), mapping.holders("k", e)) == (("heron",), ("heron", "frodo", "golan"))


# --- laws -----------------------------------------------------------------------------------------------


@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(NAMES), st.sets(st.sampled_from(NAMES))))
def test_it_ends_at_one_node_whoever_sees_whom(start: str, blind: dict[str, set[str]]) -> None:
    """`blind` lists the nodes that each node believes to be unreachable. Nodes may disagree."""
    at, visited = start, [start]
    for _ in NAMES:
        away = blind.get(at, set()) - {at}
        decision = decided(at, *away, visited=tuple(visited[:-1]), is_copy=len(visited) > 1)
        if decision.kind is not FORWARD:
            break
        [at] = decision.hops
        assert at not in visited
        visited.append(at)
    assert decision.kind in (HERE, WAIT)
    assert decision.kind is WAIT or at in ("heron", "frodo", "golan")
