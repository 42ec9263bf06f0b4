"""The figures of all parts that have a limit, as a Markdown table."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.pages.report import Row, number
from tools.running.processes import Failed

HEAD = "| what | goal | measured | reached |\n| --- | ---: | ---: | --- |"


def table(folder: Path) -> str:
    """Return the table of the results in `folder`. Raises Failed without a result that has a limit."""
    lines = [line(row) for row in rows(folder) if row.name in GOALS and row.goal.limit is not None]
    if not lines:
        raise Failed(
            f"{folder} holds no result of tools/bench: run a part of it first, or name another --json"
        )
    return "\n".join([HEAD, *lines])


def rows(folder: Path) -> Iterator[Row]:
    """Yield the rows of all files, in the order of the file names."""
    for path in sorted(folder.glob("*.json")):
        told: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
        for row in told:
            yield Row(row["name"], row["measured"], row["note"], row["flaw"], row.get("missing", ""))


def line(row: Row) -> str:
    """Return the line of a row.

    A row without a result counts as not reached.
    """
    goal = row.goal
    bound = f"{'≥' if goal.more else '≤'} {number(goal.limit or 0.0)} {goal.unit}".strip()
    if row.missing or row.flaw:
        return f"| {goal.what} | {bound} | {row.missing or row.flaw} | no |"
    measured = f"{number(row.measured)} {goal.unit}".strip()
    ratio = goal.ratio(row.measured)
    missed = "no" if ratio is None else f"{ratio:.2f} of it"
    return f"| {goal.what} | {bound} | {measured} | {'yes' if row.is_good else missed} |"
