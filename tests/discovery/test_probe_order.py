"""The order in which nodes are probed, and how often."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from mesh.discovery.probe_order import ProbeOrder


def test_nobody_has_a_turn_in_an_empty_roster() -> None:
    roster = ProbeOrder(Random(0).random)
    assert (roster.next_node(), roster.some(3, b""), len(roster)) == (None, [], 0)


@given(
    st.lists(st.tuples(st.sampled_from(["add", "remove", "next"]), st.integers(0, 7)), max_size=80),
    st.integers(),
)
def test_nobody_has_two_turns_in_a_round_and_nobody_who_stays_misses_two_rounds(
    scenario: list[tuple[str, int]], seed: int
) -> None:
    roster = ProbeOrder(Random(seed).random)
    waits: dict[bytes, int] = {}
    for what, i in scenario:
        uuid = bytes([i])
        if what == "add" and uuid not in waits:
            roster.add(uuid)
            waits[uuid] = 0
        elif what == "remove" and uuid in waits:
            roster.remove(uuid)
            del waits[uuid]
        elif what == "next":
            turn = roster.next_node()
            assert (turn is None) == (not waits)
            waits = {one: 0 if one == turn else wait + 1 for one, wait in waits.items()}
        assert len(roster) == len(waits)
        assert set(roster.some(99, b"")) == set(waits)
        assert all(wait <= 2 * 8 for wait in waits.values())


def test_a_round_gives_each_one_turn() -> None:
    roster = ProbeOrder(Random(0).random)
    for i in range(20):
        roster.add(bytes([i]))
    for _ in range(5):
        assert len({roster.next_node() for _ in range(20)}) == 20


def test_helpers_are_others_and_chosen_evenly() -> None:
    roster = ProbeOrder(Random(0).random)
    for i in range(10):
        roster.add(bytes([i]))
    chosen: Counter[bytes] = Counter()
    for i in range(6000):
        if i % 10 == 0:
            for _ in range(10):
                roster.next_node()
        helpers = roster.some(3, bytes([0]))
        assert len(set(helpers)) == 3
        chosen.update(helpers)
    assert bytes([0]) not in chosen
    assert max(chosen.values()) / min(chosen.values()) < 1.3
    assert len(roster.some(20, bytes([0]))) == 9
