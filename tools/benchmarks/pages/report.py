"""Reports: rows of goal, result and ratio; a table for people, JSON for programs."""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from tools.benchmarks.pages.goal import Goal
from tools.benchmarks.pages.goals import GOALS

WIDE = 160  # columns without a terminal


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of the report.

    `flaw` is an error of the measurement, for example that a message was lost. `missing` is the reason why
    the figure could not be measured here at all, which is not a failure. Both are empty otherwise.
    """

    name: str
    measured: float
    note: str = ""
    flaw: str = ""
    missing: str = ""

    @property
    def goal(self) -> Goal:
        return GOALS[self.name]

    @property
    def is_good(self) -> bool:
        return not self.flaw and not self.missing and self.goal.is_reached(self.measured)


@dataclass(slots=True)
class Report:
    """The findings of one part of the benchmark.

    `details` is further data for programs.
    """

    part: str
    rows: list[Row] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """Whether no row has a flaw, whatever the speed."""
        return not any(row.flaw for row in self.rows)


def shown(report: Report) -> Table:
    table = Table(title=report.part, box=box.SIMPLE, title_justify="left", title_style="bold")
    table.add_column("what")
    for column in ("goal", "measured", "ratio"):
        table.add_column(column, justify="right")
    table.add_column("note")
    for row in report.rows:
        table.add_row(*cells(row))
    return table


def cells(row: Row) -> tuple[str, ...]:
    goal = row.goal
    bound = "" if goal.limit is None else f"{'≥' if goal.more else '≤'} {number(goal.limit)}"
    if row.missing:
        return goal.what, bound, "not here", "", row.missing
    ratio = goal.ratio(row.measured)
    is_none = row.flaw and goal.limit != 0.0  # a count of errors is a result, too
    measured = "no result" if is_none else f"{number(row.measured)} {goal.unit}"
    style = "" if goal.limit is None and not row.flaw else "green" if row.is_good else "bold red"
    shown = f"[{style}]{measured}[/]" if style else measured
    return goal.what, bound, shown, "" if ratio is None or row.flaw else f"{ratio:.2f}", row.flaw or row.note


def number(value: float) -> str:
    """Return a number as text: without decimals from 1,000 on, else with at most three significant digits."""
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def write(report: Report, folder: Path) -> Path:
    """Write the report as JSON, one file per part, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{report.part}.json"
    rows = [
        {**asdict(row), "unit": row.goal.unit, "goal": row.goal.limit, "good": row.is_good}
        for row in report.rows
    ]
    path.write_text(
        json.dumps({"part": report.part, "rows": rows, "details": report.details}, indent=1) + "\n"
    )
    return path


def read(path: Path) -> Report:
    found = json.loads(path.read_text())
    rows = [Row(**{each.name: row[each.name] for each in fields(Row)}) for row in found["rows"]]
    return Report(found["part"], rows, found["details"])


def tell(report: Report, folder: Path, *more: Table) -> None:
    """Print the report and further tables, and write the JSON file."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDE)
    for table in (shown(report), *more):
        console.print(table)
    console.print(f"  {write(report, folder)}\n", markup=False, soft_wrap=True)
