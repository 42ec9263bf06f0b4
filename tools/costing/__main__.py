"""Is our code as cheap as it was? Exit code 1 when a path costs more than was accepted."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import click

from tools.costing.baseline import FILE, PYTHON, Change, changes, grown, read, write
from tools.costing.nodes import FULL
from tools.costing.paths import PATHS, Cost, measured

WORSE = 1
WHAT_TO_DO = """\
Make it as cheap as it was. Or, if what it brings is worth that: tools/costs --accept, commit the file with
the change, and say there why."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--accept", is_flag=True, help="From now on it may cost what it costs now.")
@click.option(
    "--baseline",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=FILE,
    help="Where what was accepted stands. Default: tests/costs.json.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures for programs, and compare nothing.")
def main(accept: bool, file: Path, as_json: bool) -> None:
    """Count what an envelope costs, and each message in it.

    Counts the instructions and calls that real cores and clients execute, which no busy machine changes, and
    compares them with what was accepted. Exit code 1 when a figure is more than 3 % above that.
    """
    now = {name: measured(name) for name in PATHS}
    if as_json:
        click.echo(json.dumps({name: asdict(cost) for name, cost in now.items()}))
        return
    _show(now)
    was = read(file)
    if accept:
        write(file, now)
        click.echo(f"\nAccepted for Python {PYTHON}: {file}")
    elif was is None:
        click.echo(f"\nNothing is accepted for Python {PYTHON}, nothing compared. See tools/costs --accept.")
    else:
        sys.exit(_judge(was, now))


def _show(now: dict[str, Cost]) -> None:
    click.echo(f"Python {PYTHON}, instructions / calls / calls of C functions")
    for name, cost in now.items():
        envelope, message = (" / ".join(f"{n:,.10g}" for n in of.values()) for of in cost.figures.values())
        click.echo(f"  {name:<42}  an envelope {envelope:<24}  a message {message}")


def _judge(was: dict[str, Cost], now: dict[str, Cost]) -> int:
    found = list(changes(was, now))
    worse, better = [x for x in found if x.is_worse], [x for x in found if not x.is_worse]
    strange = was.keys() ^ now.keys()
    for name in now:
        _tell_worse([change for change in worse if change.path == name], was, now)
    if strange:
        click.echo(f"\nNew, or gone: {'; '.join(sorted(strange))}. See tools/costs --accept.")
    if worse:
        click.echo(f"\n{WHAT_TO_DO}")
    elif better:
        click.echo("\nCheaper than what was accepted. tools/costs --accept keeps it so:")
        click.echo("\n".join(f"  {change}" for change in better))
    return WORSE if worse or strange else 0


def _tell_worse(worse: list[Change], was: dict[str, Cost], now: dict[str, Cost]) -> None:
    if worse:
        click.echo()
        click.echo("\n".join(str(change) for change in worse))
        name = worse[0].path
        click.echo(f"  in an envelope of {FULL}, above all:")
        click.echo("\n".join(f"  {line}" for line in grown(was[name], now[name])))


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        sys.exit("Use tools/costs: without PYTHONHASHSEED=0 sets have another order in each process.")
    main()
