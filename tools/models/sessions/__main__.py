"""Searches the models of moving sessions for violations, and for planted mistakes."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.table import Table

from tools.models.sessions.mistakes import MISTAKES
from tools.models.sessions.scenarios import SCENARIOS, search
from tools.models.sessions.search import Outcome

FAILED = 1
WIDTH = max(map(len, SCENARIOS))
WIDE = 160  # columns without a terminal


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", metavar="[NAME", required=False, type=click.Choice([*SCENARIOS]))
@click.argument("mistake", metavar="[MISTAKE]]", required=False, type=click.Choice([*MISTAKES]))
@click.option("--all", "is_all", is_flag=True, help="Search every scenario. Default: the smaller ones.")
@click.option("--mistakes", "plants_all", is_flag=True, help="Plant each mistake, one at a time.")
def main(name: str | None, mistake: str | None, is_all: bool, plants_all: bool) -> None:
    """Visit all states of the models of moving sessions, and check every invariant.

    NAME is a scenario, such as "one master". MISTAKE is planted into it, and the shortest trace to the
    violation is printed. Exit code 1: an invariant is violated, a search reached its bound, or a planted
    mistake was not found.
    """
    console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)
    if (name is not None) + is_all + plants_all > 1:
        raise click.UsageError("Name a scenario, or use --all or --mistakes.")
    if plants_all:
        is_fine = _find_mistakes(console)
    elif name is not None and mistake is not None:
        is_fine = _find_mistake(console, name, mistake)
    else:
        names = [name] if name else [each for each, one in SCENARIOS.items() if is_all or not one.is_large]
        results = [_search(console, each) for each in names]
        is_fine = all(results)
    sys.exit(0 if is_fine else FAILED)


def _search(console: Console, name: str) -> bool:
    """Search a scenario, and return whether it is complete; search it again for a trace if it is not."""
    outcome = search(name)
    console.print(f"{name:{WIDTH}} {_line(outcome)}", soft_wrap=True)
    if outcome.violation:
        _show_trace(console, search(name, has_trace=True))
    return outcome.is_complete


def _find_mistake(console: Console, name: str, mistake: str) -> bool:
    outcome = search(name, mistake, has_trace=True)
    console.print(f"{mistake}, in {name}: {_line(outcome)}", soft_wrap=True)
    _show_trace(console, outcome)
    return outcome.violation is not None


def _find_mistakes(console: Console) -> bool:
    """Search each planted mistake in its scenario, and return whether all are found."""
    table = Table("mistake", "scenario", "violation")
    for column in ("states", "trace", "CPU s"):
        table.add_column(column, justify="right")
    are_found = True
    for mistake, planted in MISTAKES.items():
        outcome = search(planted.scenario, mistake)
        are_found &= outcome.violation is not None
        table.add_row(
            mistake, planted.scenario, str(outcome.violation or "not found"),
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


if __name__ == "__main__":
    main()
