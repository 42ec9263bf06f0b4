"""Does a message cost what it did? And would it be seen if it did not, and where?"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.costing import baseline
from tools.costing.baseline import FILE, PYTHON
from tools.costing.paths import Cost

ROOT = Path(__file__).parents[1]
COMMAND = "from tools.costing.__main__ import main; main()"
ACCEPTED: dict[str, Any] = json.loads(FILE.read_text())
compared = pytest.mark.skipif(PYTHON not in ACCEPTED, reason=f"no figures for Python {PYTHON} in {FILE.name}")

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
    """Exit code and output of tools/costs in a process of its own, in which a module may be planted."""
    command = ("import planted; " if planted else "") + COMMAND
    result = subprocess.run(
        [sys.executable, "-c", command, *arguments],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{planted or ''}", "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return result.returncode, result.stdout


@compared
@pytest.mark.slow  # 3 s of CPU
def test_a_message_costs_no_more_than_was_accepted() -> None:
    code, output = costs()
    assert code == 0, output


@pytest.mark.slow
def test_two_runs_count_the_same() -> None:
    first, second = costs("--json"), costs("--json")
    assert first == second and first[0] == 0
    assert json.loads(first[1])["node, to one subscriber"]["figures"]["envelope"]["instructions"] > 1000


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
def test_a_slow_change_fails_and_is_named(
    module: str, owner: str, method: str, turns: int, path: str, figure: str, tmp_path: Path
) -> None:
    (tmp_path / "planted.py").write_text(
        SLOWER.format(module=module, owner=owner, method=method, turns=turns)
    )
    code, output = costs(planted=tmp_path)
    told = [line for line in output.splitlines() if line.startswith(f"{path}: ") and f"more {figure}" in line]
    assert (code, len(told)) == (1, 1), output
    _, _, where = output.partition(told[0])[2].partition("above all:\n")
    assert "planted.py:slower" in where.splitlines()[0]
    assert "tools/costs --accept" in output


@pytest.mark.slow  # for its length
@compared
def test_what_has_become_cheaper_is_a_hint_and_no_failure(tmp_path: Path) -> None:
    accepted = json.loads(FILE.read_text())
    accepted[PYTHON]["client, posts"]["figures"]["message"]["instructions"] *= 1.1
    file = tmp_path / "costs.json"
    file.write_text(json.dumps(accepted))
    code, output = costs("--baseline", str(file))
    assert code == 0
    assert "Cheaper than what was accepted" in output
    assert "client, posts: 9.1% fewer instructions for each message" in output


@pytest.mark.slow
def test_figures_of_another_python_are_not_compared_and_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    file.write_text('{"2.7": {}}')
    code, output = costs("--baseline", str(file))
    assert (code, f"Nothing is accepted for Python {PYTHON}" in output) == (0, True)
    code, output = costs("--baseline", str(file), "--accept")
    assert (code, json.loads(file.read_text()).keys()) == (0, {"2.7", PYTHON})


@pytest.mark.slow  # for its length
def test_a_path_that_is_new_fails_until_it_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    baseline.write(file, {"client, sends": cost(100)})
    code, output = costs("--baseline", str(file))
    assert (code, "New, or gone: client, posts; client, sends; " in output) == (1, True)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [(100, 103, []), (100, 103.1, [True]), (100, 96.9, [False]), (0, 0.1, []), (0, 0.2, [True])],
)
def test_three_in_a_hundred_are_forgiven(before: float, after: float, found: list[bool]) -> None:
    changes = baseline.changes({"path": cost(before)}, {"path": cost(after)})
    assert [change.is_worse for change in changes] == found


def cost(instructions: float) -> Cost:
    return Cost({"envelope": {"instructions": instructions}}, {})
