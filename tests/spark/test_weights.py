"""The weight of a node from its figures, and the reason for it."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.history.weights import LEAST, MOST, Learnt, Measured, as_file, weigh


def measured(node: str, latency_ms: float | None = 1.0, **figures: float | None) -> Measured:
    known: dict[str, float | None] = {"answers": 1000, "states": 1000, "idle_cores": 4.0}
    return Measured(node, latency_ms=latency_ms, **(known | figures))  # type: ignore[arg-type]


def weights(*nodes: Measured) -> dict[str, float]:
    return {learnt.node: learnt.weight for learnt in weigh(nodes)}


def reason(*nodes: Measured) -> str:
    """Return the reason for the first node's weight."""
    return next(learnt.reason for learnt in weigh(nodes) if learnt.node == nodes[0].node)


def test_weight_falls_as_latency_rises() -> None:
    found = weights(
        measured("a", 2.0), measured("b", 1.0), measured("c", 4.0), measured("d", 2.0), measured("e", 2.0)
    )
    assert found == {"a": 1.0, "b": 2.0, "c": 0.5, "d": 1.0, "e": 1.0}


def test_of_two_nodes_the_slow_one_counts_less_and_the_fast_one_as_before() -> None:
    assert weights(measured("fast", 1.0), measured("slow", 2.5)) == {"fast": 1.0, "slow": 0.4}


def test_weight_grows_with_the_root_of_capacity() -> None:
    small, normal, large = measured("s", idle_cores=1.0), measured("n"), measured("l", idle_cores=16.0)
    assert weights(small, normal, large) == {"s": 0.5, "n": 1.0, "l": 2.0}
    assert (
        reason(small, normal, large)
        == "answers in 1 ms, as the typical node; 1 idle cores, the typical node 4"
    )


def test_whose_capacity_is_not_known_is_measured_by_its_idle_cores() -> None:
    nodes = measured("a", capacity=4000.0), measured("b", idle_cores=8.0, capacity=8000.0), measured("c")
    assert weights(*nodes) == {"a": 1.0, "b": 1.41, "c": 1.0}
    assert "8,000 messages/s at full load, the typical node 4,000" in reason(nodes[1], nodes[0], nodes[2])


def test_figures_that_differ_by_less_than_a_tenth_are_equal() -> None:
    near = measured("near", 1.09, idle_cores=3.7)
    assert weights(near, measured("a"), measured("b")) == {"near": 1.0, "a": 1.0, "b": 1.0}
    assert reason(near, measured("a"), measured("b")) == "answers in 1.1 ms, as the typical node"
    assert weights(measured("far", 1.12), measured("a"), measured("b"))["far"] == 0.89


def test_no_weight_leaves_its_bounds_and_the_reason_says_so() -> None:
    nodes = measured("dead slow", 5000.0), measured("a"), measured("b"), measured("quick", 0.01)
    found = weights(*nodes)
    assert (found["dead slow"], found["quick"]) == (LEAST, MOST)
    assert reason(*nodes) == "answers in 5,000 ms, the typical node in 1 ms; 0.25 is the least"


@pytest.mark.parametrize(
    "new",
    [
        measured("new", 50.0, answers=99),
        measured("new", 50.0, states=29),
        measured("new", None, answers=0),
        measured("new", 50.0, idle_cores=None),
        Measured("new"),
    ],
)
def test_whoever_has_too_little_history_counts_as_the_typical_node_and_is_no_measure(new: Measured) -> None:
    assert weights(new, measured("a", 1.0), measured("b", 2.0)) == {"new": 1.0, "a": 1.0, "b": 0.5}
    assert reason(new, measured("a")).startswith("too little history")
    assert weights(new) == {"new": 1.0}


def test_whoever_answers_nothing_counts_least() -> None:
    nodes = measured("deaf", 2000.0, answers=0, unanswered=500), measured("a")
    assert weights(*nodes) == {"deaf": LEAST, "a": 1.0}
    assert "(500 without an answer count 2 s each)" in reason(*nodes)


def test_answers_within_no_time_at_all_break_nothing() -> None:
    assert weights(measured("a", 0.0), measured("b", 0.0)) == {"a": 1.0, "b": 1.0}


FIGURES = st.floats(0, 1e6)
NODES = st.lists(
    st.builds(
        Measured,
        st.text("abcdef", min_size=1),
        st.integers(0, 10**9),
        st.integers(0, 10**6),
        st.none() | FIGURES,
        st.integers(0, 10**9),
        st.none() | st.floats(0.01, 1e3),
        st.none() | st.floats(1, 1e6),
    ),
    unique_by=lambda it: it.node,
)


@given(NODES)
def test_every_node_has_a_weight_within_bounds_and_a_short_reason(nodes: list[Measured]) -> None:
    found = weigh(nodes)
    assert [learnt.node for learnt in found] == sorted(it.node for it in nodes)
    assert all(LEAST <= learnt.weight <= MOST and 0 < len(learnt.reason) <= 200 for learnt in found)


def test_the_file_is_as_documented() -> None:
    made = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone(timedelta(hours=1)))
    learnt = [Learnt("heron", 0.5, 1234, 1.23456, None, "ah"), Learnt("egret", 1.0, 5, None, 5300.12, "new")]
    found = as_file(
        learnt,
        cluster="lab",
        made=made,
        expires=made + timedelta(days=7),
        since=made - timedelta(days=7),
        until=datetime(2026, 1, 2, tzinfo=UTC),
    )
    assert found == {
        "version": 1,
        "cluster": "lab",
        "made": "2026-01-02T02:04:05Z",
        "expires": "2026-01-09T02:04:05Z",
        "since": "2025-12-26T02:04:05Z",
        "until": "2026-01-02T00:00:00Z",
        "weights": {
            "heron": {"weight": 0.5, "answers": 1234, "latency_ms": 1.235, "capacity": None, "reason": "ah"},
            "egret": {"weight": 1.0, "answers": 5, "latency_ms": None, "capacity": 5300.12, "reason": "new"},
        },
    }
