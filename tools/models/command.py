"""The scenarios and planted mistakes of one family of models, and the command that searches them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from tools.models.planting import Mistake, planted
from tools.models.search import Bounds, Model, Outcome, explore

FAILED = 1
WIDE = 160  # columns without a terminal
EVERY_STATE = Bounds()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A model and the bounds of its search. `violates` is an invariant that the design does not promise."""

    make: Callable[[], Model[Any]]
    bounds: Bounds = EVERY_STATE
    is_large: bool = False  # searched with --all only
    violates: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """The scenarios and planted mistakes of models that belong together, by name."""

    scenarios: Mapping[str, Scenario]
    mistakes: Mapping[str, Mistake]

    def search(self, name: str, mistake: str = "", has_trace: bool = False) -> Outcome:
        """Search a scenario, with a planted mistake if one is named."""
        scenario = self.scenarios[name]
        with planted(self.mistakes[mistake]) if mistake else nullcontext():
            return explore(scenario.make(), scenario.bounds, has_trace)


def command(family: Family, text: str) -> click.Command:
    """Return the command that searches a family; `text` is its help."""

    @click.command(help=text, context_settings={"help_option_names": ["-h", "--help"]})
    @click.argument("name", metavar="[NAME", required=False, type=click.Choice([*family.scenarios]))
    @click.argument("mistake", metavar="[MISTAKE]]", required=False, type=click.Choice([*family.mistakes]))
    @click.option("--all", "is_all", is_flag=True, help="Search every scenario. Default: the smaller ones.")
    @click.option("--mistakes", "plants_all", is_flag=True, help="Plant each mistake, one at a time.")
    def search(name: str | None, mistake: str | None, is_all: bool, plants_all: bool) -> None:
        if (name is not None) + is_all + plants_all > 1:
            raise click.UsageError("Name a scenario, or use --all or --mistakes.")
        console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)
        if plants_all:
            is_fine = _find_mistakes(console, family)
        elif name is not None and mistake is not None:
            is_fine = _find_mistake(console, family, name, mistake)
        else:
            names = (
                [name]
                if name
                else [each for each, one in family.scenarios.items() if is_all or not one.is_large]
            )
            results = [_search(console, family, each) for each in names]
            is_fine = all(results)
        sys.exit(0 if is_fine else FAILED)

    return search


def _search(console: Console, family: Family, name: str) -> bool:
    """Search a scenario, and return whether it ends as expected; search again for a trace if it does not."""
    outcome, expected = family.search(name), family.scenarios[name].violates
    width = max(map(len, family.scenarios))
    console.print(f"{name:{width}} {_line(outcome)}{' (expected)' if expected else ''}", soft_wrap=True)
    if outcome.violation:
        is_expected = outcome.violation.invariant == expected
        if not is_expected:
            _show_trace(console, family.search(name, has_trace=True))
        return is_expected
    return outcome.is_complete and not expected


def _find_mistake(console: Console, family: Family, name: str, mistake: str) -> bool:
    outcome = family.search(name, mistake, has_trace=True)
    console.print(f"{mistake}, in {name}: {_line(outcome)}", soft_wrap=True)
    _show_trace(console, outcome)
    return outcome.violation is not None


def _find_mistakes(console: Console, family: Family) -> bool:
    """Search each planted mistake in its scenario, and return whether all are found."""
    table = Table("mistake", "scenario", "violation")
    for column in ("states", "trace", "CPU s"):
        table.add_column(column, justify="right")
    are_found = True
    for mistake, one in family.mistakes.items():
        outcome = family.search(one.scenario, mistake)
        are_found &= outcome.violation is not None
        table.add_row(
            mistake, one.scenario, str(outcome.violation or "not found"),
            f"{outcome.states:,}", str(outcome.depth), f"{outcome.seconds:.2f}",
        )  # fmt: skip
    console.print(table)
    return are_found


def _line(outcome: Outcome) -> str:
    bound = "complete" if outcome.is_complete else "until found" if outcome.violation else "bound reached"
    return (
        f"{outcome.states:9,} states ({bound}), {outcome.steps:10,} steps, depth {outcome.depth:2},"
        f" {outcome.at_rest:7,} at rest, {outcome.seconds:6.1f} s: {outcome.violation or 'no violation'}"
    )


def _show_trace(console: Console, outcome: Outcome) -> None:
    for number, step in enumerate(outcome.trace, 1):
        console.print(f"{number:4} {step}")
