"""The cost of a message compared with the accepted one, and the report of a difference."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.waiting import LIMIT
from tools.costing import __main__ as command
from tools.costing import baseline
from tools.costing.baseline import FILE, PYTHON, Accepted
from tools.costing.paths import Cost

ROOT = Path(__file__).parents[3]
COMMAND = "from tools.costing.__main__ import main; main()"
compared = pytest.mark.skipif(
    baseline.read(FILE) is None, reason=f"no figures for Python {PYTHON} in {FILE.name}"
)

SLOWER = """
from mesh.{module} import {owner}

right = {owner}.{method}

def slower(self, *arguments, **options):
    for _ in range({turns}):
        pass
    return right(self, *arguments, **options)

{owner}.{method} = slower
"""


def costs(*arguments: str, planted: Path | None = None) -> tuple[int, str]:
    """Run tools/costs in a process of its own and return exit code and output.

    A module `planted` in that directory is imported first.
    """
    code = ("import planted; " if planted else "") + COMMAND
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{planted or ''}", "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    return result.returncode, result.stdout


@pytest.fixture(scope="module")
def today() -> dict[str, dict[str, Any]]:
    """The figures and functions of all paths as they are now."""
    code, output = costs("--json", "-")
    assert code == 0, output
    found: dict[str, dict[str, Any]] = json.loads(output)
    return found


@compared
@pytest.mark.slow  # 9 s of CPU
def test_a_message_costs_no_more_than_was_accepted(today: dict[str, dict[str, Any]]) -> None:
    was = baseline.read(FILE) or {}
    now = {path: Cost(cost["figures"], cost["functions"]) for path, cost in today.items()}
    assert was.keys() == now.keys()
    assert [str(change) for change in baseline.changes(was, now) if change.is_worse] == []


@pytest.mark.slow
def test_two_runs_count_the_same(today: dict[str, dict[str, Any]]) -> None:
    path = "node, to one subscriber"
    code, output = costs("--json", "-", "--only", path)
    assert (code, json.loads(output)) == (0, {path: today[path]})
    assert today[path]["figures"]["envelope"]["instructions"] > 1000


@pytest.mark.slow
@compared
@pytest.mark.parametrize(
    ("module", "owner", "method", "turns", "path", "figure"),
    [
        ("routing.feed", "Feed", "offer", 150, "node, to one subscriber", "instructions for each envelope"),
        ("routing.subscriptions", "SubscriptionIndex", "plan", 150, "node, 1,000 topics in turn",
         "instructions for each envelope"),
        ("client.publishing", "Publishing", "post", 10, "client, posts", "instructions for each message"),
        ("streams.seen", "SeenMessages", "fresh", 50, "client, takes one message at a time",
         "instructions for each envelope"),
    ],
)  # fmt: skip
def test_a_slow_change_fails(
    module: str, owner: str, method: str, turns: int, path: str, figure: str, tmp_path: Path
) -> None:
    (tmp_path / "planted.py").write_text(
        SLOWER.format(module=module, owner=owner, method=method, turns=turns)
    )
    code, output = costs("--only", path, planted=tmp_path)
    told = [line for line in output.splitlines() if line.startswith(f"{path}: ") and f"more {figure}" in line]
    assert (code, len(told)) == (1, 1), output
    assert "tools/costs --accept" in output


PATH = "client, posts"


def invoked(monkeypatch: pytest.MonkeyPatch, cost: Cost, *arguments: str) -> tuple[int, str]:
    """Run tools/costs with one path, which has this cost."""
    monkeypatch.setattr(command, "PATHS", {PATH: None})
    monkeypatch.setattr(command, "measured", lambda name: cost)
    result = CliRunner().invoke(command.main, arguments)
    return result.exit_code, result.output


def test_functions_that_grew_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    before, after = cost(100, {"a": 70, "b": 30}), cost(150, {"a": 70, "b": 50, "c": 30})
    assert invoked(monkeypatch, before, "--json", str(file)) == (0, "")
    code, output = invoked(monkeypatch, after, "--before", str(file))
    lines = [line.split() for line in output.splitlines()[-2:]]
    assert (code, lines) == (0, [["+30", "c", "(0", "->", "30)"], ["+20", "b", "(30", "->", "50)"]])


@pytest.mark.parametrize(
    ("now", "code", "said"),
    [
        (103, 0, ""),
        (110, 1, "client, posts: 10.0% more instructions for each envelope: 100 -> 110"),
        (90, 0, "client, posts: 10.0% fewer instructions for each envelope: 100 -> 90"),
    ],
)
def test_what_has_become_cheaper_is_a_hint_and_no_failure(
    now: float, code: int, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "costs.json"
    baseline.write(file, {PATH: cost(100)})
    found, output = invoked(monkeypatch, cost(now), "--baseline", str(file))
    assert (found, said in output, "--accept" in output) == (code, True, bool(said))


def test_figures_of_another_python_are_not_compared_and_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "costs.json"
    baseline.write(file, {PATH: cost(7)}, python="2.7")
    code, output = invoked(monkeypatch, cost(100), "--baseline", str(file))
    assert (code, f"Nothing is accepted for Python {PYTHON}" in output) == (0, True)
    assert invoked(monkeypatch, cost(100), "--baseline", str(file), "--accept")[0] == 0
    for python, figure in (("2.7", 7), (PYTHON, 100)):
        assert baseline.read(file, python) == {PATH: accepted(figure)}


@pytest.mark.parametrize("path", ["client, sends", "client, takes"])
def test_a_path_that_is_new_fails_until_it_is_accepted(
    path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "costs.json"
    baseline.write(file, {path: cost(100)})
    code, output = invoked(monkeypatch, cost(100), "--baseline", str(file))
    assert (code, f"New, or gone: {PATH}; {path}." in output) == (1, True)
    assert invoked(monkeypatch, cost(100), "--baseline", str(file), "--accept")[0] == 0
    assert invoked(monkeypatch, cost(100), "--baseline", str(file))[0] == 0


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [(100, 103, []), (100, 103.1, [True]), (100, 96.9, [False]), (0, 0.1, []), (0, 0.2, [True])],
)
def test_three_in_a_hundred_are_tolerated(before: float, after: float, found: list[bool]) -> None:
    changes = baseline.changes({PATH: accepted(before)}, {PATH: cost(after)})
    assert [change.is_worse for change in changes] == found


def test_a_row_keeps_its_own_tolerance(tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    row = '{"instructions": 100, "tolerance": 0.2}'
    file.write_text(f'{{"{PYTHON}": {{"{PATH}": {{"envelope": {row}}}}}}}')
    assert list(baseline.changes(baseline.read(file) or {}, {PATH: cost(120)})) == []
    baseline.write(file, {PATH: cost(120)})
    assert baseline.read(file) == {PATH: accepted(120, 0.2)}
    assert [len(list(baseline.changes(baseline.read(file) or {}, {PATH: cost(n)}))) for n in (144, 145)] == [
        0,
        1,
    ]


def accepted(instructions: float, tolerance: float = 0.03) -> Accepted:
    return Accepted({"envelope": {"instructions": instructions}}, {"envelope": tolerance})


def cost(instructions: float, functions: dict[str, int] | None = None) -> Cost:
    # The command shows the figures of an envelope and of a message.
    return Cost({"envelope": {"instructions": instructions}}, functions or {})
