"""The tables of a week: its steps, the message counts, and growth beside its limits."""

from collections.abc import Iterator
from math import isinf

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from tools.lab_parts.week.growth import LOGS, MEASURES, SEGMENTS, Growth, Measure
from tools.lab_parts.week.plan import WeekPlan, WeekResult


def shown(plan: WeekPlan, result: WeekResult) -> Group:
    return Group(_steps(plan, result), _counts(result), _growth(result), *_wrong(result))


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _steps(plan: WeekPlan, result: WeekResult) -> Table:
    table = _table(f"a week in {plan.seconds / 60:g} minutes, seed {plan.seed}", "what was done", "s")
    table.add_column("")
    for step in result.steps:
        table.add_row(step.what, f"{step.seconds:.1f}", step.showed)
    return table


def _counts(result: WeekResult) -> Table:
    columns = ("owed", "lost", "doubled", "out of order", "gone with the disk", "again after it")
    table = _table("messages", "subscriber at", *columns)
    for name, it in result.counts.items():
        of = it.count
        numbers = (of.owed, of.lost, of.doubled, of.disordered, it.gone, it.again)
        table.add_row(name, *(f"{n:,}" for n in numbers))
    return table


def _growth(result: WeekResult) -> Table:
    table = _table("what a node has", "of each node", "at first", "at most", "in the end", "may be", "grows")
    for measure in (*MEASURES, SEGMENTS, LOGS):
        for name, growth in result.growth.get(measure.name, {}).items():
            table.add_row(f"{measure.name}, {name}", *_row(measure, growth))
    return table


def _row(measure: Measure, growth: Growth) -> Iterator[str]:
    for value in (growth.first, growth.highest, growth.last, growth.most):
        yield "-" if isinf(value) else f"{value / measure.unit:,.{0 if measure.unit == 1 else 1}f}"
    yield "yes" if growth.grows else "no"


def _wrong(result: WeekResult) -> list[Text]:
    found = [*result.wrong, *([f"logs: {result.log}"] if result.log else [])]
    return [Text(each) for each in found]
