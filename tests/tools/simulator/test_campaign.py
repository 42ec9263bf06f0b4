"""Campaigns of simulation runs: their runs, their workers, and the report of violations."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.waiting import LIMIT, until
from tools.simulator import planted_search
from tools.simulator.__main__ import Interim, main
from tools.simulator.campaign import again, tried
from tools.simulator.history import History
from tools.simulator.planted import BUGS


@pytest.mark.slow  # for its length
def test_a_scenario_that_goes_another_way_the_second_time_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digests = iter("ab")
    monkeypatch.setattr(History, "digest", lambda self: next(digests))
    assert [invariant for invariant, _ in tried(0, "short", twice=True).violations] == ["same"]


@pytest.mark.slow
def test_the_workers_of_a_campaign_that_is_killed_end_with_it() -> None:
    command = [sys.executable, "-m", "tools.simulator", "--seeds", "1000", "--profile", "short"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environ) as campaign:
        me = psutil.Process(campaign.pid)
        until(lambda: sum("spawn_main" in " ".join(child.cmdline()) for child in me.children()) == 2)
        workers = me.children()
        campaign.kill()
    assert not psutil.wait_procs(workers, LIMIT)[1]


def test_where_there_is_no_terminal_a_line_now_and_then_says_how_far_it_is() -> None:
    for is_terminal, lines in ((False, ["3 scenarios, 1.0 minutes", "5 scenarios, 2.5 minutes"]), (True, [])):
        out = StringIO()
        interim = Interim(Console(file=out, force_terminal=is_terminal), 100.0)
        for scenarios_, now in ((1, 110.0), (2, 159.0), (3, 160.0), (4, 219.0), (5, 250.0), (6, 300.0)):
            interim.hear(f"{scenarios_} scenarios", now)
        assert out.getvalue().splitlines() == lines


def test_scenarios_of_a_file_are_told_again(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("# profile, seed, and what was wrong.\nshort 3 a thing\nrest 10 another\n")
    assert list(again(file)) == [("short", 3), ("rest", 10)]


@pytest.mark.slow  # for its length
def test_the_command_tells_those_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("short 3 a thing\n")
    result = CliRunner().invoke(main, ["--again", str(tmp_path / "seeds.txt"), "--jobs", "1"])
    assert (result.exit_code, "every promise was kept" in result.output) == (0, True), result.output


@pytest.mark.slow  # for its length
def test_the_command_tells_scenarios_and_writes_what_came_of_them(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    options = ["--profile", "short", "--seeds", "2", "--jobs", "1", "--json", str(file)]
    result = CliRunner().invoke(main, options)
    assert (result.exit_code, "every promise was kept" in result.output) == (0, True), result.output
    found = json.loads(file.read_text())
    assert (found["scenarios"], found["failed"]) == (2, [])
    assert found["simulated_hours"] > 0.03


def test_a_row_of_each_planted_mistake_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file, names = tmp_path / "planted.json", list(BUGS)[:2]
    monkeypatch.setattr(planted_search, "BUGS", {name: BUGS[name] for name in names})
    monkeypatch.setattr(planted_search, "TRIED", 3)
    monkeypatch.setattr(planted_search, "is_found", lambda bug, seed: bug is BUGS[names[0]] and seed == 1)
    monkeypatch.setattr(planted_search, "broken_without", lambda bug, seed: [])
    result = CliRunner().invoke(main, ["--planted", "--no-reduce", "--json", str(file)])
    rows = json.loads(file.read_text())
    assert [(row["name"], row["seed"], row["tries"]) for row in rows] == [
        (names[0], 1, 3),
        (names[1], None, 4),
    ]
    assert (result.exit_code, f"missed {names[1]}" in result.output) == (1, True)
