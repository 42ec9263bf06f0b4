"""Distances from the master: a route through the node itself is none, and no report makes a master."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from mesh.mapping.decision import Claim
from mesh.mapping.strata import (
    NOTICED,
    NOWHERE,
    UNTOLD,
    Damping,
    Distance,
    by_rules,
    closer,
    heard,
    is_news,
    is_way,
    measured,
)
from mesh.wire.limits import HOPS


def claims(*rows: tuple[str, int] | tuple[str, int, str]) -> list[Claim]:
    return [Claim(row[0], row[1], row[2] if len(row) > 2 else "", "DOMAIN NEWS") for row in rows]


def told(**ways: Sequence[str] | None) -> dict[str, Distance | None]:
    return {node: None if way is None else Distance(tuple(way)) for node, way in ways.items()}


def of(
    me: str, claimed: list[Claim], said: dict[str, Distance | None], is_open: bool = False
) -> Distance | None:
    return measured(me, claimed, is_open, lambda claim: said.get(claim.node, NOWHERE))


def test_a_master_is_its_own_way_whatever_others_say() -> None:
    found = of("heron", claims(("heron", 0), ("frodo", 0)), told(frodo=["frodo"]))
    assert found == Distance(("heron",), masters=2) and found.stratum == 0


@pytest.mark.parametrize(
    ("said", "claimed", "masters"),
    [(1, (("b", 1),), 1), (2, (("b", 1),), 2), (0, (("b", 1),), 0), (0, (("b", 1), ("m", 0)), 1)],
)
def test_the_number_of_masters_is_reported_from_the_master_on(
    said: int, claimed: tuple[tuple[str, int], ...], masters: int
) -> None:
    found = of("a", claims(*claimed), {"b": Distance(("b", "m"), masters=said)})
    assert found is not None and found.masters == masters


@pytest.mark.parametrize(("is_open", "way"), [(True, ("golan",)), (False, ())])
def test_without_a_rule_it_is_the_master_where_all_are(is_open: bool, way: tuple[str, ...]) -> None:
    assert of("golan", [], {}, is_open) == Distance(way)


def test_a_slave_is_one_hop_behind_whom_it_asks() -> None:
    found = of("bilbo", claims(("frodo", 1)), {"frodo": Distance(("frodo", "heron"), 0.25)})
    assert found == Distance(("bilbo", "frodo", "heron"), 0.25) and found.stratum == 2


def test_a_way_with_itself_in_it_is_none() -> None:
    """000-04, as in NTP: a node does not wait for a node that waits for it."""
    assert of("a", claims(("b", 1), ("c", 1)), told(b=["b", "c", "a", "m"], c=["c", "a"])) == NOWHERE
    assert of("a", claims(("b", 1), ("c", 1)), told(b=["b", "a", "m"], c=["c", "m"])) == Distance(
        ("a", "c", "m")
    )


def test_of_several_ways_it_is_the_one_that_messages_take() -> None:
    two = told(b=["b", "x", "m"], c=["c", "m"])
    assert of("a", claims(("b", 1), ("c", 2)), two) == Distance(("a", "b", "x", "m"))
    assert of("a", claims(("b", 1), ("c", 1)), two) == Distance(("a", "c", "m"))
    assert of("a", claims(("a", 3, "c"), ("b", 1), ("c", 2)), two) == Distance(("a", "c", "m"))
    assert of("a", claims(("a", 2), ("b", 1), ("c", 2)), told(b=[], c=["c", "m"])) == NOWHERE


def test_what_is_not_said_yet_is_neither_a_way_nor_none() -> None:
    assert of("a", claims(("b", 1), ("c", 1)), told(b=None, c=[])) is None
    assert of("a", claims(("b", 1), ("c", 1)), told(b=None, c=["c", "m"])) == Distance(("a", "c", "m"))


def test_no_word_of_others_makes_a_master() -> None:
    rules = claims(("m", 0), ("b", 1))
    assert of("a", rules, told(m=[], b=["b"])) == NOWHERE
    assert of("a", rules, told(m=[], b=["b", "evil"])) == NOWHERE
    assert of("a", rules, told(m=[], b=["b", "m"])) == Distance(("a", "b", "m"))
    assert is_way("a", Distance(("b", UNTOLD)), rules)  # an older release may be behind it
    assert is_way("a", Distance(("b",)), claims(("b", 1)))  # no rule here contradicts it


def test_a_way_has_an_end() -> None:
    way = tuple(f"n{i}" for i in range(HOPS))
    assert not is_way("a", Distance(way), claims(("n0", 1)))
    assert is_way("a", Distance(way[1:]), claims(("n1", 1)))


def test_one_that_says_nothing_is_as_far_as_the_rules_have_it() -> None:
    assert by_rules(claims(("b", 0))[0], 0.5) == Distance(("b",), 0.5, masters=0)
    assert by_rules(claims(("b", 2))[0], 0.5).stratum == 2
    assert len(by_rules(claims(("b", 2**62))[0], 0.5).way) <= HOPS + 1
    assert not is_way("a", by_rules(claims(("b", 2**62))[0], 0.5), claims(("b", 2**62)))


def test_nobody_is_asked_by_a_master_or_above_ones_own_stratum() -> None:
    assert closer("heron", claims(("heron", 0), ("frodo", 0), ("bilbo", 1))) == []
    assert [c.node for c in closer("a", claims(("a", 2), ("b", 2), ("c", 1), ("d", 3)))] == ["c"]
    assert [c.node for c in closer("a", claims(("a", 9, "d"), ("b", 2), ("c", 1), ("d", 3)))] == [
        "d",
        "c",
        "b",
    ]


@pytest.mark.parametrize(
    "way",
    [["c", "m"], ["b", "m", "b"], ["b", "x", "x"], ["b", ""], ["b", "../m"], ["b", "\ud800"],
     ["b", *(f"n{i}" for i in range(HOPS))]],
)  # fmt: skip
def test_what_cannot_be_a_way_is_not_heard(way: list[str]) -> None:
    assert heard("b", way, 0.0) is None


@pytest.mark.parametrize("latency", [-1.0, float("nan"), float("inf")])
def test_nor_is_one_that_takes_no_time_that_can_be(latency: float) -> None:
    assert heard("b", ["b", "m"], latency) is None


def test_what_can_be_one_is() -> None:
    assert heard("b", [], 0.0) == NOWHERE
    assert heard("b", ["b", UNTOLD, UNTOLD], 0.5, 2) == Distance(("b", UNTOLD, UNTOLD), 0.5, 2)


def test_another_way_is_news_at_once_and_another_latency_now_and_then() -> None:
    said = Distance(("a", "m"), 0.01)
    assert is_news(None, said, False) and is_news(said, Distance(("a", "b", "m"), 0.01), False)
    assert is_news(said, NOWHERE, False) and not is_news(said, said, True)
    slower = Distance(("a", "m"), 0.02)
    assert is_news(said, slower, True) and not is_news(said, slower, False)
    assert not is_news(said, Distance(("a", "m"), 0.012), True)
    assert not is_news(Distance(("a", "m")), Distance(("a", "m"), NOTICED), True)


def test_the_more_often_a_way_changes_the_later_it_is_told() -> None:
    damping, now = Damping(), 1000.0
    assert damping.allowed_at("d") <= now
    pauses = []
    for _ in range(12):
        damping.mark_sent("d", now)
        pauses.append(damping.allowed_at("d") - now)
        now = damping.allowed_at("d")
    assert pauses[0] == pytest.approx(Damping.LEAST) and pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(Damping.MOST)
    damping.mark_sent("d", now + Damping.CALM)
    assert damping.allowed_at("d") == pytest.approx(now + Damping.CALM + Damping.LEAST)
    damping.keep_domains(["other"])
    assert damping.allowed_at("d") == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_with_any_rules_ways_come_to_rest_and_none_is_a_circle(seed: int) -> None:
    """AMENDMENTS 4.7: without the path, distances of a triangle that lost its master would grow for ever."""
    chance = random.Random(seed)
    nodes = [f"n{i}" for i in range(7)]
    rules = {
        node: claims(*((other, 1) for other in chance.sample(nodes, 3) if other != node)) for node in nodes
    }
    rules["n0"] = claims(("n0", 0))
    ways: dict[str, Distance | None] = dict.fromkeys(nodes)
    settle(nodes, rules, ways, chance)
    for node, way in ways.items():
        assert way is not None and len({*way.way}) == len(way.way)
        assert not way.way or (way.way[0], way.way[-1]) == (node, "n0")
    assert ways["n0"] == Distance(("n0",))
    rules["n0"] = claims(("nobody", 1))  # the master is gone
    settle(nodes, rules, ways, chance)
    assert {*ways.values()} == {NOWHERE}


def settle(
    nodes: list[str], rules: dict[str, list[Claim]], ways: dict[str, Distance | None], chance: random.Random
) -> None:
    """Measure the nodes in random order until all is stable. Nodes that wait in vain get no distance."""
    for _ in range(1000):
        before = dict(ways)
        for node in chance.sample(nodes, len(nodes)):
            ways[node] = measured(node, rules[node], False, lambda claim: ways.get(claim.node, NOWHERE))
        if ways == before:
            if None not in ways.values():
                return
            ways.update({node: NOWHERE for node, way in ways.items() if way is None})
    pytest.fail("they do not come to rest")
