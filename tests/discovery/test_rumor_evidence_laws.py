"""Rumors that arrive in any order, twice, or from a node that invents others."""

from collections.abc import Callable
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.discovery.member import NodeLife, Rumour
from mesh.discovery.membership import DirectProbe, Membership
from tests.discovery.nodes import HERON, crowd, membership, node, rumour, until

ALIVE, SUSPECT, DEAD, LEFT, SEEN = (
    NodeLife.ALIVE,
    NodeLife.SUSPECT,
    NodeLife.DEAD,
    NodeLife.LEFT,
    NodeLife.SEEN,
)


WORD = st.builds(
    lambda state, boot, incarnation, by: rumour(state, "heron", boot, incarnation, by, f"tcp://{boot}:1"),
    st.sampled_from([ALIVE, SUSPECT, DEAD, LEFT]),
    st.integers(1, 2),
    st.integers(0, 1),
    st.sampled_from(["n1", "n2"]),
)


def few() -> Membership:
    return membership("ibis")


def many() -> Membership:
    return crowd()


def many_with_heron() -> Membership:
    members = crowd()
    members.on_introduction(node("heron", address="tcp://1:1"), 0.0)
    return members


Made = Callable[[], Membership]


EVERYWHERE = pytest.mark.parametrize("made", [few, many, many_with_heron])


def believed(members: Membership, words: list[Rumour]) -> tuple[object, ...]:
    """Return the state, node and incarnation of heron after `words`; the last two decide about news."""
    for word in words:
        members.rumoured(b"?" * 16, (word,), 5.0)
    found = members.member_of(HERON)
    return () if found is None else (found.state, found.node, found.incarnation)


@EVERYWHERE
@given(st.lists(WORD, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_rumours_does_not_matter(made: Made, words: list[Rumour], shuffle: Random) -> None:
    other = list(words)
    shuffle.shuffle(other)
    assert believed(made(), words) == believed(made(), other)


def test_who_is_back_by_the_word_of_others_has_not_spoken_itself() -> None:
    """A node that is alive by rumor has not sent a message itself.

    Otherwise its return would outweigh a later suspicion, and only where its death was reported first.
    """
    words = [
        rumour(state, "heron", 1, number, "n1") for state, number in ((DEAD, 0), (ALIVE, 1), (SUSPECT, 1))
    ]
    found = {believed(many_with_heron(), list(order)) for order in permutations(words)}
    assert [state for state, *_ in found] == [SUSPECT]


@EVERYWHERE
@given(st.lists(WORD, max_size=8))
def test_a_rumour_heard_twice_is_heard_once(made: Made, words: list[Rumour]) -> None:
    assert believed(made(), words) == believed(made(), words + words)


@given(st.lists(WORD, max_size=8), st.lists(WORD, max_size=8))
def test_two_that_tell_each_other_what_they_know_agree(mine: list[Rumour], yours: list[Rumour]) -> None:
    a, b = crowd(seed=1), crowd(seed=2)
    believed(a, mine)
    believed(b, yours)
    for members, other in ((a, yours), (b, mine)):
        believed(members, other)
    assert believed(a, []) == believed(b, [])


@given(st.lists(WORD, max_size=8))
def test_rumours_about_one_node_change_no_other(words: list[Rumour]) -> None:
    members = crowd()
    before = {m.uuid: m for m in members.all()}
    believed(members, words)
    assert {m.uuid: m for m in members.all() if m.uuid != HERON} == before


def test_no_packet_holds_more_than_thirty_two_rumours() -> None:
    members = membership(*(f"n{i}" for i in range(50)))
    for _, result in until(members, 30.0):
        if isinstance(result, DirectProbe):
            assert len(result.rumours) <= 32
            members.rumoured(result.to, (), 0.0)
