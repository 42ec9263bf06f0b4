"""The benchmarks of slow subscribers and of messages that wait: judgments, and runs without remains."""

from pathlib import Path

import pytest

from tools.benchmarks.measures import start, waiting
from tools.benchmarks.measures.start import Started
from tools.benchmarks.measures.waiting import Waited
from tools.benchmarks.trials import stopped
from tools.benchmarks.trials.stopped import Round


def test_others_may_wait_a_fifth_longer_beside_one_that_stopped() -> None:
    def judged(p99: float, grown: float, lost: int = 0) -> dict[str, bool]:
        report = stopped.told([Round(False, 0.010, 1.0, 0), Round(True, p99, grown, lost)])
        return {row.name: row.is_good for row in report.rows}

    assert judged(0.0119, 15.9) == {"stopped, p99": True, "stopped, memory": True}
    assert judged(0.0121, 16.1) == {"stopped, p99": False, "stopped, memory": False}
    assert not judged(0.0100, 1.0, lost=1)["stopped, p99"], "a round that loses one has no result"


def test_what_does_not_wait_any_more_was_lost() -> None:
    assert waiting.told(Waited(1_000, 0.5, 0.6, 1_000, 60.0)).rows[0].is_good
    [row] = waiting.told(Waited(1_000, 0.5, 0.6, 999, 60.0)).rows
    assert row.flaw == "only 999 of 1,000 still wait"
    assert not waiting.told(Waited(1_000, 0.5, 10.1, 1_000, 60.0)).rows[0].is_good


@pytest.mark.slow
def test_a_thousand_that_wait_outlive_their_node(place: Path) -> None:
    steps: list[int] = []
    report = waiting.measured(1_000, lambda: steps.append(1))
    assert report.is_clean and len(steps) == waiting.STEPS
    assert report.details["pending"] >= 1_000


def test_a_start_after_which_not_all_waits_is_no_result() -> None:
    rows = start.told([Started(100, 0.5, 0.4, 45.0, 100), Started(1_000, 9.9, 0.4, 60.0, 999)]).rows
    assert [(row.name, row.is_good) for row in rows[::2]] == [("start, fewer", True), ("start", False)]
    assert rows[2].flaw == "999 of 1,000 messages wait"
    slow = start.told([Started(100, 0.5, 0.4, 45.0, 100), Started(1_000, 10.1, 0.4, 60.0, 1_000)]).rows[2]
    assert (slow.flaw, slow.is_good) == ("", False)


@pytest.mark.slow
def test_a_node_starts_with_all_that_waits(place: Path) -> None:
    steps: list[int] = []
    report = start.measured(200, lambda: steps.append(1))
    assert report.is_clean and len(steps) == start.STEPS
    assert [each["pending"] for each in report.details["starts"]] == [100, 1_000]


@pytest.mark.slow
def test_one_stops_and_the_others_do_not(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopped, "FLOOD", 500)
    steps: list[int] = []
    report = stopped.measured(1, 2, lambda: steps.append(1))
    assert report.is_clean and len(steps) == stopped.STEPS
    assert [one["is_stopped"] for one in report.details["rounds"]] == [False, True]
