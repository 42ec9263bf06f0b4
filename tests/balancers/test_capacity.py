"""The capacity of a node is believed within limits, and weights move it within limits."""

from dataclasses import replace
from math import inf, nan

import pytest

from mesh.balancers.base import Candidate
from mesh.balancers.capacity import capacities, weights
from tests.balancers.candidates import fresh, named


def test_what_a_node_has_left_is_what_it_can_take() -> None:
    assert capacities([fresh("a", 0.2), fresh("b", 0.5), fresh("c", 0.6)], 2.0) == pytest.approx(
        [0.8, 0.5, 0.4]
    )


@pytest.mark.parametrize("honest", [0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("others", [1, 2, 3, 10])
def test_a_node_that_says_it_is_idle_counts_as_four_typical_ones_at_most(honest: float, others: int) -> None:
    room, *rooms = capacities([fresh("liar", 0.0), *(fresh(f"n{n}", honest) for n in range(others))], 2.0)
    assert room <= 4 * max(rooms) * (1 + 1e-9)
    assert honest < 0.75 or room == pytest.approx(4 * rooms[0])


def test_a_node_that_says_it_is_busy_still_counts_as_a_quarter() -> None:
    assert capacities([fresh("a", 0.2), fresh("b", 0.2), fresh("c", 1.0)], 2.0) == pytest.approx(
        [0.8, 0.8, 0.2]
    )


@pytest.mark.parametrize(
    "unknown",
    [
        Candidate("u"),
        Candidate("u", load=0.0),
        Candidate("u", load=0.0, age=6.1),
        Candidate("u", load=1.0, age=99.0),
    ],
)
def test_a_node_of_which_nothing_new_is_known_counts_as_the_typical_one(unknown: Candidate) -> None:
    among = [fresh("a", 0.3), fresh("b", 0.5), fresh("c", 0.9), unknown]
    assert capacities(among, 2.0)[-1] == pytest.approx(0.5)


def test_a_state_is_believed_until_three_in_a_row_are_missed() -> None:
    slow = Candidate("slow", load=0.0, age=20.0)
    among = [fresh("a", 0.5), fresh("b", 0.5), slow]
    assert capacities(among, 2.0)[-1] == pytest.approx(0.5)
    assert capacities(among, 10.0)[-1] == pytest.approx(1.0)


def test_when_nothing_is_known_of_anybody_all_are_equal() -> None:
    assert len(set(capacities([Candidate("a"), Candidate("b"), Candidate("c")], 2.0))) == 1


def test_when_all_are_wholly_busy_all_are_equal() -> None:
    assert len(set(capacities([fresh("a", 1.0), fresh("b", 1.0)], 2.0))) == 1


def weighed(*given: float) -> list[Candidate]:
    names = named(" ".join(f"n{place}" for place in range(len(given))))
    return [replace(candidate, weight=weight) for candidate, weight in zip(names, given, strict=True)]


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ((1.0, 1.0, 1.0), [1, 1, 1]),
        ((3.0, 3.0), [1, 1]),
        ((0.5, 1.0, 2.5), [0.5, 1, 2.5]),
        ((2.0, 4.0, 8.0), [0.5, 1, 2]),
        ((1.0, 1000.0), [1, 4]),
        ((0.001, 1.0, 1.0), [0.25, 1, 1]),
    ],
)
def test_a_weight_counts_against_the_typical_one_and_four_times_at_most(
    given: tuple[float, ...], count: list[float]
) -> None:
    assert weights(weighed(*given)) == count


@pytest.mark.parametrize("senseless", [0.0, -1.0, -inf, nan])
def test_a_weight_that_makes_no_sense_counts_as_the_least(senseless: float) -> None:
    assert weights(weighed(1.0, senseless, 2.0)) == [1.0, 0.25, 2.0]
    assert weights(weighed(senseless, senseless)) == [0.25, 0.25]


def test_an_endless_weight_counts_as_the_most() -> None:
    assert weights(weighed(1.0, inf, 2.0)) == [1.0, 4.0, 2.0]


def test_a_weight_multiplies_what_a_node_has_left() -> None:
    among = [replace(fresh("a", 0.2), weight=0.5), fresh("b", 0.5), replace(fresh("c", 0.6), weight=2.0)]
    assert capacities(among, 2.0) == pytest.approx([0.4, 0.5, 0.8])
