"""Topics with several masters: the nodes that get a message, and those that are asked."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.mapping.decision import Decision, Kind, Use
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.names import SessionName
from tests.mesh.envelopes import envelope
from tests.mesh.mapping.views import FakeView, down, up

HERE, FORWARD, WAIT, REFUSE = Kind.HERE, Kind.FORWARD, Kind.WAIT, Kind.REFUSE
BOTH = (Rule("heron", domains=("D",)), Rule("avalon", domains=("D",)))
WAY, SECOND = Rule("frodo", 1, ("D",)), Rule("golan", 1, ("D",))
ALL = up("heron", "avalon", "frodo", "golan")


def decided(
    me: str, rules: Iterable[Rule], view: FakeView = ALL, visited: tuple[str, ...] = (), is_copy: bool = False
) -> Decision:
    return Mapping(me, tuple(rules)).decide("k", "D", view, visited, "a stream", is_copy)


# --- publishing -----------------------------------------------------------------------------------------


def test_A36_each_master_gets_a_copy() -> None:
    decision = decided("bilbo", BOTH)
    assert (decision.kind, decision.hops, decision.to_master) == (FORWARD, ("heron", "avalon"), True)


def test_a_master_keeps_it_and_sends_the_others_a_copy() -> None:
    decision = decided("avalon", BOTH)
    assert (decision.kind, decision.copies, decision.is_shared) == (HERE, ("heron",), True)
    assert decision.why == "DOMAIN D, stratum 0: master, with heron"


def test_a_copy_is_divided_no_more() -> None:
    decision = decided("avalon", BOTH, visited=("bilbo",), is_copy=True)
    assert (decision.kind, decision.copies, decision.is_shared) == (HERE, (), True)


def test_a_master_to_which_it_came_as_to_a_way_divides_it() -> None:
    assert decided("avalon", BOTH, visited=("bilbo",)).copies == ("heron",)
    assert decided("avalon", BOTH, visited=("heron",)).copies == (), "never where it has been"


def test_one_master_is_not_shared() -> None:
    decision = decided("heron", BOTH[:1])
    assert (decision.kind, decision.copies, decision.is_shared) == (HERE, (), False)
    decision = decided("bilbo", BOTH[:1])
    assert (decision.node, decision.copies, decision.to_master) == ("heron", (), True)


def test_a_way_gets_one_whether_it_divides_it_or_not() -> None:
    decision = decided("bilbo", (WAY,))
    assert (decision.hops, decision.to_master) == (("frodo",), False)


def test_one_that_is_away_gets_its_copy_later() -> None:
    decision = decided("bilbo", BOTH, FakeView({"heron", "avalon"}, {"avalon"}))
    assert (decision.kind, decision.node, decision.hops) == (FORWARD, "avalon", ("heron", "avalon"))
    assert decided("bilbo", BOTH, down("heron", "avalon")).kind is WAIT


def test_one_that_is_not_known_counts_all_the_same() -> None:
    assert decided("bilbo", BOTH, up("avalon")).hops == ("heron", "avalon")
    decision = decided("bilbo", BOTH, up())
    assert (decision.kind, decision.hops) == (WAIT, ("heron", "avalon"))


def test_while_one_is_away_a_living_way_may_reach_all() -> None:
    one_away = FakeView({"heron", "avalon", "frodo"}, {"heron", "frodo"})
    assert decided("bilbo", (*BOTH, WAY)).hops == ("heron", "avalon")
    assert decided("bilbo", (*BOTH, WAY), one_away).hops == ("frodo",)
    assert decided("bilbo", (*BOTH, WAY), FakeView(one_away.known, {"heron"})).hops == ("heron", "avalon")


def test_a_dead_parent_is_not_waited_for_while_one_master_is_alive() -> None:
    rules = (*BOTH, WAY, Rule("bilbo", 2, ("D",), refid="frodo"))
    assert decided("bilbo", rules).hops == ("frodo",)
    view = FakeView({"heron", "avalon", "frodo"}, {"heron"})
    assert (decided("bilbo", rules, view).kind, decided("bilbo", rules, view).node) == (FORWARD, "heron")


def test_where_it_has_been_it_goes_no_more() -> None:
    assert decided("bilbo", BOTH, visited=("heron",)).hops == ("avalon",)
    assert decided("bilbo", BOTH, visited=("heron", "avalon")).code == "CIRCULAR_LOOP"


def test_a_letter_goes_to_one_of_them() -> None:
    to = SessionName("joe", 1, None)
    decision = Mapping("bilbo", BOTH).address(to, "D", ALL, of="a stream")
    assert (decision.hops, ALL.choices[-1]) == (("heron",), (("heron", "avalon"), "a stream"))


# --- routes of equal rank -----------------------------------------------------------------------------------


def test_among_ways_of_equal_rank_the_balancer_chooses_for_a_stream() -> None:
    view = up("frodo", "golan")
    assert decided("bilbo", (WAY, SECOND), view).node == "frodo"
    assert view.choices == [(("frodo", "golan"), "a stream")]


@pytest.mark.parametrize(
    ("rules", "view", "node"),
    [
        ((WAY, SECOND), FakeView({"frodo", "golan"}, {"golan"}), "golan"),
        ((WAY, SECOND, Rule("bilbo", 2, ("D",), refid="golan")), up("frodo", "golan"), "golan"),
        ((Rule("frodo", 2, ("D",)), SECOND), up("frodo", "golan"), "golan"),
    ],
)
def test_alive_then_parent_then_stratum_come_before_it(
    rules: tuple[Rule, ...], view: FakeView, node: str
) -> None:
    assert decided("bilbo", rules, view).node == node
    assert view.choices == []


# --- queries ----------------------------------------------------------------------------------------------


def asked(me: str, use: Use, view: FakeView, rules: Iterable[Rule] = BOTH) -> tuple[tuple[str, ...], ...]:
    sources = Mapping(me, tuple(rules)).sources("exact", "k", "D", view, use)
    return sources.hops, sources.masters, sources.away


def test_a_get_asks_one_that_is_alive_and_another_each_time() -> None:
    view = up("heron", "avalon")
    assert asked("bilbo", Use.GET, view) == (("heron",), ("heron",), ())
    assert view.choices == [(("heron", "avalon"), None)]
    one = FakeView({"heron", "avalon"}, {"avalon"})
    assert asked("bilbo", Use.GET, one) == (("avalon",), ("avalon",), ())
    assert one.choices == []


def test_a_subscription_and_an_erase_ask_all() -> None:
    both = ("heron", "avalon")
    for use in (Use.SUBSCRIBE, Use.ERASE):
        assert asked("bilbo", use, up(*both)) == (both, both, ())
    assert asked("bilbo", Use.SUBSCRIBE, FakeView(set(both), {"heron"})) == (both, both, ())
    assert asked("bilbo", Use.SUBSCRIBE, down(*both)) == (both, both, both)


def test_a_subscription_stays_with_the_living_master_and_does_not_move_to_a_way() -> None:
    view = FakeView({"heron", "avalon", "frodo"}, {"heron", "frodo"})
    assert asked("bilbo", Use.SUBSCRIBE, view, (*BOTH, WAY))[0] == ("heron", "avalon")


def test_a_master_asks_nobody_but_to_erase() -> None:
    view = up("heron", "avalon")
    assert [asked("heron", use, view)[0] for use in Use] == [(), (), ("avalon",)]


@pytest.mark.parametrize(
    ("rule", "has_parts"),
    [
        (Rule("heron", domains=("NEWS",)), False),
        (Rule("heron", domains=("*",)), False),
        (Rule("heron", keys=("k",)), True),
        (Rule("heron", patterns=("k/#",)), True),
        (Rule("heron", xpaths=("//a",)), True),
    ],
)
def test_a_rule_for_keys_may_split_what_a_node_relays(rule: Rule, has_parts: bool) -> None:
    mapping = Mapping("bilbo", (Rule("frodo", domains=("NEWS",)), rule))
    assert mapping.has_parts == mapping.comes_in_parts("k", envelope("k")) == has_parts


def test_only_what_has_several_masters_is_looked_at_twice() -> None:
    assert Mapping("bilbo", BOTH).has_several
    other = (BOTH[0], Rule("avalon", domains=("E",)), Rule("frodo", 1, ("D",)))
    assert not Mapping("bilbo", other).has_several
    assert Mapping("bilbo", (Rule("a", keys=("k",)), Rule("b", keys=("k",)))).has_several
    assert Mapping("bilbo", BOTH).masters("k", envelope("k", domain="D")) == ("heron", "avalon")


# --- all rules together -------------------------------------------------------------------------------------

NODES = ("a", "b", "c", "d", "e")
STRATA = st.dictionaries(st.sampled_from(NODES), st.integers(0, 2), min_size=1).filter(
    lambda strata: 0 in strata.values()
)


@given(STRATA, st.sampled_from(NODES), st.permutations(NODES))
def test_when_all_are_alive_it_reaches_each_master_once(
    strata: dict[str, int], start: str, order: list[str]
) -> None:
    rules = [Rule(node, strata[node], ("D",)) for node in order if node in strata]
    taken: list[str] = []
    going: list[tuple[tuple[str, ...], bool]] = [((start,), False)]
    while going:
        path, is_copy = going.pop()
        decision = decided(path[-1], rules, up(*NODES), path[:-1], is_copy)
        assert decision.kind in (HERE, FORWARD)
        taken += [path[-1]] if decision.kind is HERE else []
        hops = decision.copies if decision.kind is HERE else decision.hops
        going += [((*path, hop), decision.to_master) for hop in hops]
        assert all(a != b for a, b in pairwise(path))
    assert sorted(taken) == sorted(node for node, stratum in strata.items() if stratum == 0)
