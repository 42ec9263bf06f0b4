"""Compares the cost of our code with the accepted cost.

The exit code is 1 if a path costs more, or if a path is new or gone.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import click

from tools.costing.baseline import FILE, PYTHON, Accepted, Change, changes, grown, read, write
from tools.costing.nodes import FULL
from tools.costing.paths import PATHS, Cost, measured

WORSE = 1
WHAT_TO_DO = """\
Make it as cheap as it was. Or, if what it brings is worth that: tools/costs --accept, commit the file with
the change, and say there why."""
WHERE = "To see the functions: tools/costs --json FILE before the change, then tools/costs --before FILE."
JSON_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--accept", is_flag=True, help="Save the present costs as the accepted ones; tolerances stay.")
@click.option(
    "--baseline",
    "file",
    type=JSON_FILE,
    default=FILE,
    help="File of the accepted costs. Default: tests/costs.json.",
)
@click.option(
    "--only", "paths", type=click.Choice([*PATHS]), multiple=True, help="Measure this path. Default: all."
)
@click.option(
    "--json",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="Write figures and functions to FILE (- for stdout) without a comparison.",
)
@click.option(
    "--before",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="List the functions that execute more instructions than in this file, written by --json.",
)
def main(accept: bool, file: Path, paths: tuple[str, ...], target: Path | None, before: Path | None) -> None:
    """Count the cost of an envelope, and of each message in it.

    The command counts the instructions and calls that real cores and clients execute, which do not depend on
    other load, and compares them with the accepted figures. Exit code 1: a figure exceeds its tolerance, or a
    path was added or removed.
    """
    if accept and paths:
        raise click.UsageError("--accept needs all paths: omit --only.")
    now = {name: measured(name) for name in paths or PATHS}
    if target is not None:
        text = json.dumps({name: asdict(cost) for name, cost in now.items()}, indent=1) + "\n"
        click.echo(text, nl=False) if str(target) == "-" else target.write_text(text)
        return
    _show(now)
    if before is not None:
        _compare(json.loads(before.read_text()), now)
        return
    was = read(file)
    if accept:
        write(file, now)
        click.echo(f"\nAccepted for Python {PYTHON}: {file}")
    elif was is None:
        click.echo(f"\nNothing is accepted for Python {PYTHON}, nothing compared. See tools/costs --accept.")
    else:
        sys.exit(judge({name: was[name] for name in paths if name in was} if paths else was, now))


def _show(now: dict[str, Cost]) -> None:
    click.echo(f"Python {PYTHON}, instructions / calls / calls of C functions")
    for name, cost in now.items():
        figures = {of: " / ".join(f"{n:,.10g}" for n in one.values()) for of, one in cost.figures.items()}
        click.echo(f"  {name:<42}  " + "  ".join(f"{of} {text:<24}" for of, text in figures.items()).rstrip())


def judge(was: dict[str, Accepted], now: dict[str, Cost]) -> int:
    found = list(changes(was, now))
    worse, better = [x for x in found if x.is_worse], [x for x in found if not x.is_worse]
    strange = was.keys() ^ now.keys()
    if strange:
        click.echo(f"\nNew, or gone: {'; '.join(sorted(strange))}. See tools/costs --accept.")
    if worse:
        _list(worse)
        click.echo(f"\n{WHERE}\n{WHAT_TO_DO}")
    elif better:
        click.echo("\nCheaper than what was accepted. tools/costs --accept keeps it so:")
        click.echo("\n".join(f"  {change}" for change in better))
    return WORSE if worse or strange else 0


def _list(worse: list[Change]) -> None:
    click.echo()
    click.echo("\n".join(str(change) for change in worse))


def _compare(before: dict[str, dict[str, dict[str, int]]], now: dict[str, Cost]) -> None:
    for name, cost in now.items():
        more = grown(before[name]["functions"], cost.functions) if name in before else []
        if more:
            click.echo(f"\n{name}, in an envelope of {FULL}:")
            click.echo("\n".join(f"  {line}" for line in more))


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        sys.exit("Use tools/costs: without PYTHONHASHSEED=0 sets have another order in each process.")
    main()
