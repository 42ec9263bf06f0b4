"""When a slave changes its parent, which one it takes, and the rules that count then."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.mapping.parents import (
    BACK,
    CALM,
    PATIENCE,
    Adopted,
    Candidate,
    Parent,
    Sight,
    review_parent,
    usable,
    with_parents,
)
from mesh.mapping.rules import Rule
from mesh.mapping.strata import Distance

FRODO = Candidate("frodo", Distance(("frodo", "heron"), 0.001), 0.5)
SAM = Candidate("sam", Distance(("sam", "heron"), 0.001), 0.5)
WELL = Sight("frodo", (FRODO,))
DEAD = Sight("frodo", (SAM,), dead=("frodo",))
LOST = Sight("frodo", (SAM,))


def after(*sights: tuple[float, Sight]) -> Parent:
    """Return the parent after looks at these times."""
    parent = Parent()
    for now, sight in sights:
        parent = review_parent(parent, sight, now)
    return parent


def test_a_dead_parent_is_replaced_at_once_and_one_without_a_route_after_five_seconds() -> None:
    assert after((0.0, WELL), (1.0, DEAD)).adopted == "sam"
    assert after((0.0, WELL), (1.0, LOST), (0.9 + PATIENCE, LOST)).adopted == ""
    assert after((0.0, WELL), (1.0, LOST), (1.0 + PATIENCE, LOST)).adopted == "sam"
    assert after((0.0, WELL), (1.0, LOST), (3.0, WELL), (1.0 + PATIENCE, LOST)).adopted == ""


def test_without_another_route_it_waits_for_its_own() -> None:
    assert after((0.0, WELL), (1.0, Sight("frodo", (), ("frodo",))), (99.0, Sight("frodo"))).node == "frodo"


def test_the_configured_parent_is_back_after_thirty_seconds_with_a_route() -> None:
    both = Sight("frodo", (SAM, FRODO))
    looks = [(0.0, WELL), (1.0, DEAD), (40.0, both)]
    assert after(*looks, (39.9 + BACK, both)).adopted == "sam"
    assert after(*looks, (40.0 + BACK, both)).adopted == ""
    assert after(*looks, (50.0, DEAD), (51.0, both), (40.0 + BACK, both)).adopted == "sam"


def test_there_is_one_change_in_ten_seconds_and_then_the_next_parent() -> None:
    bob = Candidate("bob", Distance(("bob", "heron")), 0.0)
    gone = Sight("frodo", (bob,), dead=("frodo", "sam"))
    looks = [(0.0, WELL), (1.0, DEAD), (2.0, gone), (0.9 + CALM, gone)]
    assert after(*looks).adopted == "sam"
    assert after(*looks, (1.0 + CALM, gone)).adopted == "bob"
    assert after(*looks, (1.0 + CALM, Sight("frodo", (FRODO,), dead=("sam",)))).adopted == ""


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ((("a", "b", "heron"), 0.0, 0.0), (("z", "heron"), 0.9, 1.0)),  # the stratum first
        ((("a", "heron"), 0.0051, 0.0), (("z", "heron"), 0.0049, 1.0)),  # then the latency, by steps
        ((("a", "heron"), 0.0001, 0.2), (("z", "heron"), 0.0049, 0.1)),  # then the load
        ((("z", "heron"), 0.0001, 0.1), (("a", "heron"), 0.0049, 0.1)),  # then the name
    ],
)
def test_the_nearest_then_the_quickest_then_the_idlest_is_taken(
    worse: tuple[tuple[str, ...], float, float], better: tuple[tuple[str, ...], float, float]
) -> None:
    found = [Candidate(way[0], Distance(way, latency), load) for way, latency, load in (worse, better)]
    for candidates in (found, found[::-1]):
        assert after((0.0, Sight("frodo", candidates, ("frodo",)))).adopted == better[0][0]


@pytest.mark.parametrize(
    ("way", "is_usable"),
    [
        (("sam", "heron"), True),
        ((), False),
        (("sam", "bilbo", "heron"), False),  # through the slave itself
        (("sam", "frodo", "heron"), False),  # through a broken node
        (("sam", "avalon"), False),  # not to a master
        (("sam", *map(str, range(13)), "heron"), True),
        (("sam", *map(str, range(14)), "heron"), False),  # too long
    ],
)
def test_a_route_is_taken_only_if_it_ends_at_a_master_without_the_slave(
    way: tuple[str, ...], is_usable: bool
) -> None:
    assert usable("bilbo", Distance(way), ("heron",), ("frodo",), 16) == is_usable


def test_two_slaves_never_take_each_other() -> None:
    """The route of each contains the other as soon as one of them has taken the other."""
    assert not usable("a", Distance(("b", "a", "heron")), ("heron",), (), 16)
    assert not usable("a", Distance(("b", "p", "heron")), ("heron",), ("p",), 16)  # not reported yet


SIGHT = st.builds(
    Sight,
    st.just("frodo"),
    st.lists(st.sampled_from([FRODO, SAM]), unique=True),
    st.lists(st.sampled_from(["frodo", "sam"]), unique=True),
)


@given(st.lists(st.tuples(st.floats(0.1, 20.0), SIGHT), max_size=30))
def test_whatever_it_sees_it_changes_seldom_and_only_to_a_node_with_a_route(
    looks: list[tuple[float, Sight]],
) -> None:
    now, parent, changes = 0.0, Parent(), list[float]()
    for wait, sight in looks:
        now += wait
        before, parent = parent, review_parent(parent, sight, now)
        if parent.adopted != before.adopted:
            changes.append(now)
            assert sight.has_route(parent.node)
    assert all(b - a >= CALM for a, b in pairwise(changes))


NEWS = Rule("frodo", 1, ("NEWS", "SPORTS"), keys=("k",), cache_ttl=5.0)


def test_the_rules_of_an_adopted_parent_replace_those_for_its_domain_alone() -> None:
    sam = Adopted("sam", "frodo", is_master=False)
    rules = with_parents("bilbo", (NEWS, Rule("bilbo", 2, ("NEWS",), refid="frodo")), {"NEWS": sam})
    assert rules == (
        Rule("frodo", 1, ("SPORTS",), keys=("k",), cache_ttl=5.0),
        Rule("sam", 1, ("NEWS",), cache_ttl=5.0),
    )
    [found] = with_parents("bilbo", (Rule("frodo", 1, ("NEWS",)),), {"NEWS": Adopted("heron", "frodo", True)})
    assert found == Rule("heron", 0, ("NEWS",))
    assert with_parents("bilbo", (NEWS,), {}) == (NEWS,)


def test_the_parent_for_everything_else_is_replaced_too() -> None:
    rest = Rule("bilbo", 1, refid="frodo")
    sam, heron = Adopted("sam", "frodo", False), Adopted("heron", "frodo", True)
    assert with_parents("bilbo", (rest,), {"*": sam}) == (Rule("bilbo", 2, refid="sam"),)
    assert with_parents("bilbo", (rest,), {"*": heron}) == (Rule("bilbo", 1, refid="heron"),)
    assert with_parents("gandalf", (rest,), {"*": sam}) == (rest,)
