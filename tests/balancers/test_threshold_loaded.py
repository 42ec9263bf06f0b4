"""No node above the threshold is chosen while another one is below it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.balancers.base import Candidate, NodeInfo
from mesh.balancers.threshold_loaded import ThresholdLoaded
from tests.balancers.candidates import chance, fresh

loads = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def among(given: list[float]) -> list[Candidate]:
    return [fresh(f"n{place}", load) for place, load in enumerate(given)]


@given(loads=loads, threshold=st.floats(0.01, 1), n=st.integers(1, 30))
def test_nobody_over_it_is_taken_while_somebody_is_not(loads: list[float], threshold: float, n: int) -> None:
    balancer = ThresholdLoaded(chance(), threshold)
    under = {f"n{place}" for place, load in enumerate(loads) if load <= threshold}
    if under:
        assert balancer.assign(among(loads), n).keys() <= under
        assert balancer.pick(among(loads)) in under
        assert set(balancer.order(among(loads))[: len(under)]) == under


def test_those_who_are_not_over_it_are_taken_alike() -> None:
    assert ThresholdLoaded(chance()).assign(among([0.0, 0.8, 0.81]), 10) == {"n0": 5, "n1": 5}


def test_when_all_are_over_it_the_least_loaded_have_the_most() -> None:
    counts = ThresholdLoaded(chance(), 0.1).assign(among([0.2, 0.8]), 1000)
    assert counts["n0"] == pytest.approx(800, abs=40)


def test_of_whom_nothing_new_is_known_nobody_says_that_it_is_over() -> None:
    old = replace(fresh("old", 0.9), age=6.1)
    balancer = ThresholdLoaded(chance())
    assert balancer.assign([old, Candidate("new"), fresh("busy", 0.9)], 10) == {"old": 5, "new": 5}
    balancer.started(NodeInfo("me", interval=10.0))
    assert balancer.assign([old, Candidate("new"), fresh("busy", 0.9)], 10) == {"new": 10}
