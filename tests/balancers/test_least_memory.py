"""The node with the most free memory is chosen, and false reports are limited."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.balancers.base import Candidate
from mesh.balancers.least_memory import LeastMemory
from tests.balancers.candidates import chance, fresh

GIB = 2**30


def free(node: str, ram: int | None, age: float = 1.0) -> Candidate:
    return replace(fresh(node, 0.99), ram_free=ram, age=age)


@given(rams=st.lists(st.integers(GIB, 4 * GIB), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_whoever_was_sent_nothing_and_is_taken_has_as_much_as_anybody(rams: list[int], seed: int) -> None:
    among = [free(f"n{place}", ram) for place, ram in enumerate(rams)]
    node = LeastMemory(chance(seed)).pick(among)
    assert rams[int(node[1:])] * 1.1 * (1 + 1e-9) >= max(rams)


def test_twice_the_memory_is_twice_the_messages_whatever_the_load() -> None:
    counts = LeastMemory(chance()).assign([free("a", 2 * GIB), free("b", GIB)], 900)
    assert counts["a"] == pytest.approx(600, abs=40)


def test_a_node_that_says_it_has_everything_counts_as_four_typical_ones() -> None:
    among = [free("liar", 2**62), *(free(f"n{n}", GIB) for n in range(4))]
    assert LeastMemory(chance()).assign(among, 800)["liar"] == pytest.approx(400, abs=40)


@pytest.mark.parametrize("unknown", [free("u", None), free("u", 1, age=6.1), Candidate("u", ram_free=1)])
def test_who_says_nothing_new_counts_as_typical(unknown: Candidate) -> None:
    counts = LeastMemory(chance()).assign([free("a", GIB), free("b", GIB), unknown], 300)
    assert counts["u"] == pytest.approx(100, abs=15)


def test_one_without_any_counts_as_a_quarter() -> None:
    counts = LeastMemory(chance()).assign([free("a", GIB), free("b", GIB), free("none", 0)], 900)
    assert counts["none"] == pytest.approx(100, abs=20)
