"""The simulated part of the benchmark of membership."""

import pytest

from tools.benchmarks.growth import crowded as known
from tools.benchmarks.growth.crowded import crowded
from tools.benchmarks.measures import crowd, membership
from tools.benchmarks.measures.membership import SCENARIOS, an_hour, killed, measured, steps
from tools.benchmarks.pages.goals import GOALS


@pytest.mark.slow  # for its length
def test_a_short_run_is_clean_and_takes_the_steps_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "HOURS", 1)
    monkeypatch.setattr(known, "PROBED", 20)
    monkeypatch.setattr(crowd, "MEMBERS", 40)
    done: list[None] = []
    report = measured(1, 7, lambda: done.append(None))
    assert len(done) == steps(1)
    assert report.is_clean
    assert all(row.name in GOALS and row.measured >= 0.0 for row in report.rows)
    assert len(report.details["simulated, 3"]) == 1


def test_a_broken_connection_is_seen_sooner_than_silence() -> None:
    silence, hint = (killed(scenario, 7)[0] for scenario in SCENARIOS if scenario.size == 3)
    assert 4.0 < silence < 8.0
    assert hint < 1.5


def test_who_is_called_dead_in_vain_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "LOSS", 0.6)
    assert an_hour(3, 7, seconds=600.0) > 0


def test_the_crowd_is_complete() -> None:
    members, others = crowded()
    assert members.count == len(others) + 1 == known.MEMBERS


def test_the_more_nodes_hand_on_states_the_more_one_of_them_has_to_read() -> None:
    few, many = (crowd.cost(size, intervals=3) for size in (4, 48))
    assert 0.0 < few < many


def test_what_is_known_of_all_takes_memory() -> None:
    assert 0.0 < crowd.memory(50) < crowd.memory(100)
