"""The benchmark of learned weights: the node that it slows down, and its judgments."""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from mesh.config import load as load_config
from mesh.config import rules
from tests.waiting import until
from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.pages.report import Report
from tools.benchmarks.trials.balance import share
from tools.benchmarks.trials.balance_trial import Get
from tools.benchmarks.trials.hesitation import Hesitation
from tools.benchmarks.trials.weights import slow, told, wrong
from tools.benchmarks.trials.weights_trial import (
    DOMAIN,
    IN_TURN,
    MASTERS,
    SLOW,
    WEIGHTED,
    Phase,
    Round,
    ask,
    configuration,
)
from tools.running.processes import Processes

OTHER = MASTERS[0]


def phase(strategy: str, late: int, by: str = SLOW) -> Phase:
    """Return a phase of a thousand gets: `late` of them take 50 ms, the others 2 ms."""
    gets = [Get(n / 400, 0.05 if n < late else 0.002, by if n < late else OTHER) for n in range(1_000)]
    return Phase(strategy, gets)


def judged(*late: tuple[int, int]) -> Report:
    learnt = {name: {"weight": 0.25 if name == SLOW else 1.0, "reason": f"{name} is so"} for name in MASTERS}
    return told([Round(phase(IN_TURN, one), phase(WEIGHTED, other), learnt) for one, other in late])


def test_less_than_four_fifths_of_the_time_is_good() -> None:
    report = judged((60, 5), (60, 5), (60, 60))
    rows = {row.name: row for row in report.rows}
    assert all(name in GOALS for name in rows) and report.is_clean
    assert rows["weights, p99"].measured == pytest.approx(0.04) and rows["weights, p99"].is_good
    assert rows["weights, p99"].note == "of 3 rounds: 0.04, 0.04, 1.00"
    assert rows["weights, in turn, p99"].measured == pytest.approx(50)
    assert rows["weights, in turn, p99"].note == f"{SLOW} answered 6.0 %"
    assert rows["weights, weighted, p99"].measured == pytest.approx(2)
    assert rows["weights, learnt"].measured == 0.25 and "is so" in rows["weights, learnt"].note


def test_as_much_time_as_in_turn_is_not() -> None:
    [row] = [row for row in judged((60, 60)).rows if row.name == "weights, p99"]
    assert row.measured == 1.0 and not row.is_good


def test_a_percentile_is_in_milliseconds() -> None:
    assert slow(phase(IN_TURN, 60), 0.5) == pytest.approx(2)


def test_a_get_that_failed_or_a_slow_one_that_was_suspected_leaves_no_result() -> None:
    assert wrong(phase(IN_TURN, 60)) == ""
    assert wrong(phase(IN_TURN, 60, by="MASTER_AWAY")) == "RoundRobin: 60 gets failed: MASTER_AWAY"
    doubted = phase(WEIGHTED, 5)
    doubted.doubts = ["stork does not answer"]
    assert wrong(doubted) == "WeightedRoundRobin: stork does not answer"
    report = told([Round(phase(IN_TURN, 60), doubted, {SLOW: {"weight": 1.0, "reason": "unknown"}})])
    assert not report.is_clean


def test_all_are_masters_of_the_same_domain_and_write_into_one_directory(tmp_path: Path) -> None:
    path = tmp_path / "mesh.toml"
    path.write_text(configuration(WEIGHTED, tmp_path / "s"))
    config = load_config(path, {}, {})
    assert config.balancing.strategy == WEIGHTED
    assert config.snapshots.enabled and config.snapshots.dir == str(tmp_path / "s")
    assert {rule.node: rule.domains for rule in rules(config)} == dict.fromkeys(MASTERS, (DOMAIN,))


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    """Processes with a short temporary directory.

    The signal handlers, which `Processes` replaces, are restored at the end.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with tempfile.TemporaryDirectory(prefix="w-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with Processes() as processes:
            yield processes
    for number, handler in before.items():
        signal.signal(number, handler)


def is_stopped(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_STOPPED


def test_a_program_that_hesitates_is_stopped_again_and_again_and_runs_when_it_is_over(
    processes: Processes,
) -> None:
    program = processes.start("sleeper", "timeit", "-n", "1", "-r", "1", "import time; time.sleep(3600)")
    seen: set[bool] = set()
    with pytest.raises(ZeroDivisionError), Hesitation(program, 0.05, 0.1) as hesitation:

        def is_seen() -> bool:
            seen.add(is_stopped(program.pid))
            return hesitation.times >= 3 and len(seen) == 2

        until(is_seen)
        raise ZeroDivisionError
    assert seen == {True, False} and hesitation.times >= 3
    assert not is_stopped(program.pid) and not program.ended()


@pytest.mark.slow
def test_the_slow_one_stays_a_member_and_answers_as_often_as_the_others_in_turn(processes: Processes) -> None:
    found = ask(processes, IN_TURN, 4.0, processes.place / "snapshots")
    assert wrong(found) == ""
    assert all(17 < share(found.gets, name) < 23 for name in MASTERS)
    assert found.stops >= 5
    taken = {name: [get.taken for get in found.gets if get.source == name] for name in MASTERS}
    assert max(taken[SLOW]) > 0.05
    written = {path.name.partition("-")[0] for path in (processes.place / "snapshots").rglob("*.jsonl")}
    assert written == {*MASTERS, "ibis"}
