"""The benchmark of messages without an end: the memory of the node, which must survive."""

import os
from pathlib import Path

import pytest

from tools.benchmarks.measures import unfinished
from tools.benchmarks.pages.goals import GOALS


def test_memory_at_most_is_never_less_than_memory_now() -> None:
    now, most = unfinished.peak(os.getpid(), "VmRSS"), unfinished.peak(os.getpid(), "VmHWM")
    assert 0 < now <= most


def test_each_kind_has_a_goal_and_is_a_step() -> None:
    rows = [f"unfinished, {who}" for who in (*unfinished.WHO, "garbage")]
    assert all(GOALS[row].limit for row in rows)
    assert len(rows) == unfinished.STEPS


@pytest.mark.slow
def test_a_node_outlives_a_little_garbage_and_a_short_message_without_an_end(place: Path) -> None:
    assert unfinished.grown("garbage", 50) < 1_000
    assert unfinished.grown("stranger", 1) < 1_000
