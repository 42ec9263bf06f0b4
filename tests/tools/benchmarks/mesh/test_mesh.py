"""`tools/bench mesh` finds messages that are lost, doubled or out of order."""

import time
from collections.abc import Iterable
from itertools import cycle
from types import SimpleNamespace

import pytest

from mesh.errors import MasterAway
from tests.mesh.cli.fake import FakeClient, Given
from tools.benchmarks.mesh import sub
from tools.benchmarks.mesh.__main__ import main as measure
from tools.benchmarks.mesh.get import GetRun
from tools.benchmarks.mesh.sub import PublisherRuns
from tools.benchmarks.mesh.tally import BEGIN, HEAD, OVER, RunTally, percentiles, summary

RUN = 7


def tally(numbers: Iterable[int], run: int = RUN) -> RunTally:
    made = RunTally(RUN)
    made.add([HEAD.pack(run, number, time.monotonic_ns()) for number in numbers])
    return made


def test_all_once_and_in_order_is_right() -> None:
    result = summary(tally(range(10)), published=10, took=1.0)
    assert result.is_right
    assert (result.publish_rate, result.p50 <= result.p99 <= result.worst) == (10.0, True)


def test_a_message_that_is_lost_doubled_or_late_is_counted_and_not_right() -> None:
    for numbers, expected in (([0, 2], (1, 0, 0)), ([0, 1, 1, 2], (0, 1, 0)), ([0, 2, 1], (0, 0, 1))):
        result = summary(tally(numbers), published=3, took=1.0)
        assert (result.lost, result.doubled, result.disordered) == expected
        assert not result.is_right


def test_another_bench_at_the_same_time_does_not_count() -> None:
    assert summary(tally(range(5), run=8), published=0, took=1.0).is_right


def heard(*numbers: int, run: int = RUN) -> list[bytes]:
    return [HEAD.pack(run, number, time.monotonic_ns()) for number in numbers]


def test_what_is_published_elsewhere_is_over_when_all_of_it_has_come() -> None:
    runs = PublisherRuns()
    assert not runs.are_over()
    runs.add(heard(BEGIN + 4, 0, 1))
    assert (runs.arrived, runs.planned, runs.are_over()) == (2, 4, False)
    runs.add(heard(2, OVER + 3))
    assert (runs.arrived, runs.are_over()) == (3, True)


def test_of_several_that_publish_each_is_waited_for() -> None:
    runs = PublisherRuns()
    runs.add(heard(BEGIN + 1, 0, OVER + 1) + heard(BEGIN + 1, 0, run=8) + [b"nobody's bench"])
    assert not runs.are_over()
    runs.add(heard(OVER + 1, run=8))
    assert (runs.are_over(), runs.arrived) == (True, 2)


def test_what_is_lost_is_waited_for_a_while_and_then_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = PublisherRuns()
    runs.add(heard(BEGIN + 3, 1, OVER + 3))
    assert (runs.are_over(), runs.tallies[RUN].lost, runs.tallies[RUN].missed) == (False, 2, 0)
    monkeypatch.setattr(sub, "PATIENCE", -1.0)
    assert runs.are_over()


def test_who_subscribes_late_has_missed_what_was_before_and_lost_nothing() -> None:
    tally = PublisherRuns().tallies.setdefault(RUN, RunTally(RUN))
    tally.add(heard(5, 6, 8))
    assert (tally.published, tally.missed, tally.lost) == (9, 5, 1)
    tally.add(heard(7, OVER + 9))
    assert (tally.missed, tally.lost, tally.disordered) == (5, 0, 1)


class Came:
    """A subscription that receives these batches, before a user presses Ctrl-C."""

    def __init__(self, *batches: list[bytes]) -> None:
        self._batches = list(batches)
        self.contents = lambda: self._batches.pop(0)

    def __enter__(self) -> "Came":
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def next_batch(self, timeout: float) -> "Came":
        if not self._batches:
            raise KeyboardInterrupt
        return self


@pytest.mark.parametrize(
    ("numbers", "code", "said"),
    [
        ([0, 1, 2], 0, "sub: 3 messages so far"),
        ([0, 1, 2, OVER + 3], 0, "sub: 3 messages of 3"),
        ([0, 2], 1, "lost 1 "),
        ([0, 1, 1], 1, "doubled 1 "),
        ([1, 0], 1, "disordered 1"),
        ([], 0, ""),
    ],
)
def test_what_is_wrong_is_told_and_is_exit_code_1(
    numbers: list[int], code: int, said: str, given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(subscribe=Came(heard(BEGIN + 3, *numbers)))
    assert measure(["sub"]) == code
    assert said in capsys.readouterr().out


def test_a_get_that_fails_ends_them_all(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    fake = given(get=MasterAway("its master is away."))
    assert measure(["get", "k", "--parallel", "4", "--domain", "D", "--fresh"]) == 2
    assert "its master is away. [MASTER_AWAY]" in capsys.readouterr().err
    assert {repr(options) for _, _, options in fake.asked} == {"{'key': 'k', 'domain': 'D', 'fresh': True}"}
    assert len(fake.asked) <= 4


def test_gets_are_counted_by_the_node_that_had_the_value(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    masters = cycle([SimpleNamespace(source="heron"), SimpleNamespace(source="avalon")])
    given(get=lambda **_: [next(masters)])
    assert measure(["get", "k", "--count", "5"]) == 0
    assert "values    avalon 2, heron 3\n" in capsys.readouterr().out


def test_gets_end_when_time_is_up() -> None:
    asking = GetRun(FakeClient(get=[]), {"key": "k"}, 10**6, 0.05)  # type: ignore[arg-type]
    result = asking.measured(2)
    assert 0 < result.gets == result.empty < 10**6


def test_the_worst_of_none_is_nothing() -> None:
    assert percentiles([]) == (0.0, 0.0, 0.0)
    assert percentiles(range(100, 0, -1)) == (51, 100, 100)


def test_the_part_may_stand_behind_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(["--count", "1", "sideways"]) == 2
    assert "'all', 'throughput', 'latency'" in capsys.readouterr().err
    assert measure(["sideways"]) == 2
    assert "No such command 'sideways'" in capsys.readouterr().err


def test_what_came_in_one_batch_is_not_received_faster_than_it_was_published() -> None:
    """The time of one batch is that of a loop in Python, and no rate."""
    made = RunTally(RUN)
    began = time.monotonic_ns() - 10**9
    made.add(heard(*range(1000)))
    assert made.receive_rate == 0.0
    result = summary(made, published=1000, took=1.0, began=began)
    assert result.receive_rate <= result.publish_rate
    made.first, made.last, made.arrived = 1, 10**9 + 1, 3000  # two thousand more in the next second
    assert made.receive_rate == 2000.0
