"""The benchmarks: counts, judgments, and runs that leave no files behind. Speed is not tested."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mesh.config import load as load_config
from tools.benchmarks.loads.figures import Count, counted, median, percentile
from tools.benchmarks.loads.load import Load
from tools.benchmarks.loads.runs import Run
from tools.benchmarks.measures import throughput
from tools.benchmarks.measures.durable import raw_fsyncs
from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.pages.report import Report, Row, number, shown, write
from tools.benchmarks.trials import plan
from tools.benchmarks.trials.history import (
    Answer,
    Arrival,
    Killed,
    Publisher,
    Subscriber,
    read_answers,
    read_arrivals,
)
from tools.benchmarks.trials.outcome import Outcome, told
from tools.benchmarks.trials.scenarios import MASTERS, SCENARIOS, Scenario
from tools.benchmarks.trials.verdict import WRONG, judged, nearest, recovery, seen_from
from tools.running.line import KNOWN, PORTS, configuration, free_ports

ROOT = Path(__file__).resolve().parents[3]
P1, P2 = Publisher("p1", "heron"), Publisher("p2", "egret")
CLEAN = Count()
S1 = Subscriber("s1", "stork", (P1, P2))


def test_the_median_is_the_middle_one_or_the_mean_of_the_two_in_the_middle() -> None:
    assert median([9, 1, 3]) == 3
    assert median([1, 2, 4, 100]) == 3
    with pytest.raises(ValueError, match="no values"):
        median([])


def test_a_percentile_is_one_of_the_values() -> None:
    values = list(range(100, 0, -1))
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile([7.0], 0.99)) == (51, 100, 7.0)
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


@pytest.mark.parametrize(
    ("arrived", "count"),
    [
        ([[0, 1, 2, 3]], Count()),
        ([[0, 2], [1, 3]], Count()),
        ([[0, 1, 3]], Count(lost=1)),
        ([[0, 1, 1, 2, 3]], Count(doubled=1)),
        ([[0, 1, 2, 3], [3]], Count(doubled=1)),
        ([[0, 2, 1, 3]], Count(disordered=1)),
        ([], Count(lost=4)),
    ],
)
def test_every_message_is_counted_once_and_in_order(arrived: list[list[int]], count: Count) -> None:
    assert counted(4, arrived) == count
    assert count.is_clean == (count == Count())


def test_a_load_reaches_the_other_program_as_it_was_given() -> None:
    load = Load("one topic", "bench/0", 10, topics=2, persistent=True)
    assert Load.unpacked(load.packed()) == load
    assert load.keys == ["bench/0/0", "bench/0/1"]


def test_the_same_seed_draws_the_same_kills() -> None:
    nodes = ("a", "b", "c")
    drawn = plan.draw(50, 7, nodes)
    assert drawn == plan.draw(50, 7, nodes) != plan.draw(50, 8, nodes)
    assert {kill.node for kill in drawn} == set(nodes)
    assert all(plan.DOWN[0] <= kill.down <= plan.DOWN[1] for kill in drawn)


def arrivals(*numbers: int, publisher: str = "p1") -> list[Arrival]:
    return [Arrival(publisher, n, float(n), n + 0.5) for n in numbers]


def answers(*numbers: int, state: str = "OK") -> dict[int, Answer]:
    return {n: Answer(n, float(n), state, state) for n in numbers}


@pytest.mark.parametrize(
    ("answered", "arrived", "wrong"),
    [
        (answers(1, 2, 3), arrivals(1, 2, 3), []),
        (answers(1, 2, 3), arrivals(1, 3), [("lost", 2)]),
        (answers(1, 2), arrivals(1, 2, 1), [("doubled", 1)]),
        (answers(1, 2, 3), arrivals(1, 3, 2), [("disordered", 2)]),
        (answers(1, 2, 3), [], [("lost", 1), ("lost", 2), ("lost", 3)]),
        # A warning is a promise too.
        (answers(1, 2, state="FORWARD_WARNING"), arrivals(2), [("lost", 1)]),
        # Unanswered messages may arrive or not, but never twice. Refused ones must not arrive.
        (answers(1), arrivals(1, 2), []),
        (answers(1), arrivals(1, 2, 2), [("doubled", 2)]),
        (answers(1, 2, state="STORE_FULL"), [], []),
        (answers(1) | answers(2, state="TAILBACK_FULL"), arrivals(1, 2), [("unwanted", 2)]),
        # The numbers of another publisher are separate.
        (answers(1), arrivals(1) + arrivals(1, publisher="p2"), []),
    ],
)
def test_what_was_answered_must_come_once_and_in_order(
    answered: dict[int, Answer], arrived: list[Arrival], wrong: list[tuple[str, int]]
) -> None:
    assert [(a.what, a.number) for a in judged(P1, S1, answered, arrived)] == wrong


def test_an_anomaly_is_put_down_to_the_kill_nearest_to_it() -> None:
    early, late = Killed("heron", 10.0, 11.0), Killed("stork", 20.0, 22.0)
    assert nearest(12.0, [early, late]) is early
    assert nearest(19.0, [early, late]) is late
    assert nearest(21.0, [early, late]) is late
    assert nearest(1.0, []) is None


def test_whose_node_was_killed_depends_on_who_asks() -> None:
    kills = [seen_from(Killed(node, 0.0, 0.0), P1, S1) for node in ("heron", "stork", "egret")]
    assert kills == ["publisher's", "subscriber's", "third"]
    assert seen_from(Killed("egret", 0.0, 0.0), P2, S1) == "publisher's"


PATH = ("heron", "stork")


def test_recovery_ends_with_the_first_message_that_was_posted_after_the_restart() -> None:
    kill = Killed("heron", 2.0, 3.0)
    came = [Arrival("p1", 1, 2.5, 4.0), Arrival("p1", 2, 3.5, 4.5)]
    assert recovery(kill, [kill], P1, came, PATH) == 1.5
    assert recovery(kill, [kill], P1, came[:1], PATH) is None
    again = Killed("stork", 3.2, 4.0)
    assert recovery(kill, [kill, again], P1, came, PATH) is None
    assert recovery(kill, [kill, again], P1, came, ("heron",)) == 1.5


def test_a_third_nodes_death_counts_from_the_moment_it_died() -> None:
    kill = Killed("egret", 2.0, 3.0)
    assert recovery(kill, [kill], P1, [Arrival("p1", 1, 2.5, 2.75)], PATH) == 0.75


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_scenario_kills_every_node_it_means_to_and_can_say_what_it_was(scenario: Scenario) -> None:
    drawn = scenario.plan(50, 7)
    assert {kill.node for kill in drawn} == set(scenario.mortal)
    assert all(scenario.down[0] <= kill.down <= scenario.down[1] for kill in drawn)
    for subscriber in scenario.subscribers:
        for publisher in subscriber.publishers:
            kinds = {scenario.kind(Killed(n, 0.0, 0.0), publisher, subscriber) for n in scenario.mortal}
            assert kinds == set(scenario.kinds)


def test_an_outcome_tells_apart_what_was_answered_warned_and_refused() -> None:
    given = answers(1) | answers(2, 3, state="FORWARD_WARNING") | answers(4, state="TAILBACK_FULL")
    came = {subscriber.name: arrivals(1, 2, 3) for subscriber in MASTERS.subscribers}
    outcome = Outcome(MASTERS, 7, [Killed("frodo", 1.5, 2.5)], {"p1": given}, came)
    outcome.judge()
    found = {row.name: row.measured for row in told(outcome).rows}
    assert told(outcome).is_clean
    assert (found["answered"], found["warned"], found["refused"]) == (1, 2, 1)
    assert found["recovery"] == 1.0
    assert found["while killed"] == 3 / 2.5


def test_an_outcome_puts_each_anomaly_down_to_a_kind_of_kill() -> None:
    came = {"s1": arrivals(1, 2), "s2": arrivals(1, 2), "s3": arrivals(2)}
    kills = [Killed("bilbo", 0.9, 1.1), Killed("heron", 50.0, 51.0)]
    outcome = Outcome(MASTERS, 7, kills, {"p1": answers(1, 2)}, came)
    outcome.judge()
    assert [outcome.counts("slave", what) for what in WRONG] == [1, 0, 0, 0]
    report = told(outcome)
    assert not report.is_clean
    assert report.rows[0].flaw.startswith("1: master 0, way 0, slave 1. Logs: ")


def test_each_node_of_the_line_has_a_file_that_its_node_understands(tmp_path: Path) -> None:
    ports = dict(zip(KNOWN, free_ports(len(KNOWN)), strict=True))
    assert set(ports.values()) <= set(PORTS)
    for name in KNOWN:
        path = tmp_path / f"{name}.toml"
        path.write_text(configuration(name, ports))
        config = load_config(path, {}, {})
        assert (config.links, config.default_scope, config.node.id) == ("configured", "local", name)


def test_what_the_programs_write_down_is_read_back() -> None:
    lines = ["1 2.5 OK\n", "2 2.5 FORWARD_WARNING\n", "3 2.5 STORE_FULL\n", "2 2.5 EXPIRED\n"]
    assert list(read_answers(lines).values()) == [
        Answer(1, 2.5, "OK", "OK"),
        Answer(2, 2.5, "FORWARD_WARNING", "EXPIRED"),
        Answer(3, 2.5, "STORE_FULL", "STORE_FULL"),
    ]
    assert read_arrivals(["p1 3 2.5 4.25\n"]) == [Arrival("p1", 3, 2.5, 4.25)]


def test_a_ratio_of_one_or_more_is_good_whichever_way_the_goal_points() -> None:
    more, less, none = GOALS["one topic"], GOALS["p50"], GOALS["1 KiB"]
    assert (more.ratio(400_000), less.ratio(0.5), none.ratio(7)) == (2.0, 2.0, None)
    assert not more.is_reached(100_000)
    assert not less.is_reached(2.0)
    assert none.is_reached(1.0)
    assert GOALS["lost"].is_reached(0)
    assert not GOALS["lost"].is_reached(1)


def test_a_run_that_lost_a_message_is_no_result(tmp_path: Path) -> None:
    report = Report("throughput", [Row("one topic", 1e9), Row("p50", 0.1, flaw="lost 1")])
    assert not report.is_clean
    assert list(shown(report).columns[2].cells) == ["[green]1,000,000,000 msg/s[/]", "[bold red]no result[/]"]
    written = json.loads(write(report, tmp_path).read_text())
    assert [row["good"] for row in written["rows"]] == [True, False]


def test_numbers_are_shown_with_the_digits_that_mean_something() -> None:
    assert [number(n) for n in (200_000, 1.0, 0.12345, 12.345)] == ["200,000", "1", "0.123", "12.3"]


def runs(name: str, *seconds: float, count: Count = CLEAN) -> list[Run]:
    return [Run(Load(name, "bench/0", 100), count, s, s, {}) for s in seconds]


def test_a_ratio_is_the_median_of_the_rounds_own() -> None:
    # The second round met a slow minute, which says nothing about the ratio.
    row = throughput.ratio(
        "two hops by one", runs("two hops", 2.0, 20.0, 1.5), runs("one hop", 1.0, 10.0, 1.0)
    )
    assert (row.measured, row.note, row.is_good) == (0.5, "0.50 to 0.67", False)
    lost = runs("one hop", 1.0, count=Count(lost=1))
    assert (
        throughput.ratio("two hops by one", runs("two hops", 1.0), lost).flaw
        == "lost 1, doubled 0, disordered 0"
    )


def test_raw_fsyncs_leave_no_file(tmp_path: Path) -> None:
    assert raw_fsyncs(tmp_path, seconds=0.01) > 0
    assert list(tmp_path.iterdir()) == []


TINY = (
    "--rounds",
    "1",
    "--messages",
    "1000",
    "--seconds",
    "1",
    "--times",
    "1",
    "--count",
    "2",
    "--seed",
    "7",
)


def bench(part: str, folder: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    """Run a part with temporary files in `folder` only; return exit code, output and written results."""
    environ = {**os.environ, "TMPDIR": str(folder), "COLUMNS": "200"}
    command = [str(ROOT / "tools" / "bench"), part, *TINY, "--json", str(folder / "found"), *options]
    result = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=600)
    name = "kills-masters" if "masters" in options else part
    path = folder / "found" / f"{name}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return result.returncode, result.stdout + result.stderr, found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory with a short path, because the paths of sockets must be short."""
    with tempfile.TemporaryDirectory(prefix="b-", dir="/tmp") as name:
        yield Path(name)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["throughput", "latency", "footprint", "durable"])
def test_a_tiny_run_of_each_part_loses_nothing_and_leaves_nothing(part: str, folder: Path) -> None:
    code, output, found = bench(part, folder)
    assert code == 0, output
    assert found["part"] == part
    assert [row["flaw"] for row in found["rows"]] == [""] * len(found["rows"])
    assert all(GOALS[row["name"]].what in output for row in found["rows"])
    assert [path.name for path in folder.iterdir()] == ["found"]


@pytest.mark.slow
def test_a_tiny_run_of_the_masters_scenario_loses_nothing_and_leaves_nothing(folder: Path) -> None:
    code, output, found = bench("kills", folder, "--scenario", "masters")
    assert code == 0, output
    assert found["part"] == "kills-masters"
    assert [row["flaw"] for row in found["rows"]] == [""] * len(found["rows"])
    killed = [kill["node"] for kill in found["details"]["kills"]]  # in the order of their return
    assert sorted(killed) == sorted(kill.node for kill in MASTERS.plan(2, 7))
    assert [path.name for path in folder.iterdir()] == ["found"]


@pytest.mark.slow
def test_tiny_kills_lose_nothing_leave_nothing_and_say_from_which_seed_they_were_drawn(folder: Path) -> None:
    code, output, found = bench("kills", folder)
    assert (code, found["part"], found["details"]["seed"]) == (0, "kills", 7), output
    assert [row["flaw"] for row in found["rows"]] == [""] * len(found["rows"])
    assert all(GOALS[row["name"]].what in output for row in found["rows"])
    assert re.search(r"2 kills, seed 7", output)
    killed = [kill["node"] for kill in found["details"]["kills"]]  # in the order of their return
    assert sorted(killed) == sorted(kill.node for kill in plan.draw(2, 7, ("heron", "stork", "egret")))
    assert [path.name for path in folder.iterdir()] == ["found"]


@pytest.mark.slow  # for its length
def test_a_wrong_argument_is_refused(folder: Path) -> None:
    code, output, _ = bench("throughput", folder, "--rounds", "0")
    assert code == 2
    assert "'0' is not a whole number from 1 on" in output
