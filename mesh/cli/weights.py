"""`mesh weights`: shows and sets the weights of nodes in balancing."""

import time
from pathlib import Path
from typing import Any

import click

from mesh import sync
from mesh.balancers.plugins import OURS
from mesh.cli import gathering, options
from mesh.cli.options import count, plainly, print_data, print_message, tell_json
from mesh.cli.table import tell_table
from mesh.features.history.cli import spark_child

HEADER = ("NODE", "WEIGHT", "REASON")


@click.group("weights")
def command() -> None:
    """Show or set the weights of nodes, which balancers use. Weights are learned from the history."""


@command.command("apply")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Apply weights that were learned in another mesh.")
@options.url
def apply(file: Path, force: bool, url: str | None) -> None:
    """Apply the weights of FILE in the whole mesh.

    The new weights replace the current ones. FILE comes from `mesh weights learn`, or is written by hand: a
    weight from 0.25 to 4 for each node, 1 for a typical one. Unreachable nodes receive the weights when they
    return.
    """
    from mesh.cli.weights_file import read

    found = read(file)
    if force:
        del found.given["cluster"]
    with sync.connect(url) as m:
        unknown = m.call("weights", set=found.given)["unknown"]
    weights, until = found.given["weights"], _moment(found.given["expires"])
    print_message(
        f"weights of {count(len(weights), 'node')} are in force until {until}; "
        "the other nodes follow in a moment"
    )
    if not found.has_reasons:
        print_message("the reasons were too long and are not included")
    if unknown:
        print_message(f"unknown nodes: {', '.join(unknown)}.  To list the nodes:  mesh ls")


@command.command("show")
@options.as_json
@options.url
def show(as_json: bool, url: str | None) -> None:
    """Show the current weights with their reasons and times."""
    with sync.connect(url) as m:
        found = m.call("weights")
    if as_json:
        weights = {node: {"weight": w, "reason": why} for node, (w, why) in found["weights"].items()}
        tell_json({**found, "weights": weights})
        return
    if found["weights"]:
        tell_table(HEADER, [(n, f"{w:g}", why) for n, (w, why) in found["weights"].items()], folded="REASON")
    print_data([*([""] if found["weights"] else []), *remarks(found)])


@command.command("clear")
@options.url
def clear(url: str | None) -> None:
    """Clear the weights in the whole mesh, so that all nodes count equally."""
    with sync.connect(url) as m:
        m.call("weights", clear=True)
    print_message("the weights were cleared: all nodes count equally, everywhere in a moment")


@command.command("learn", context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def learn(arguments: tuple[str, ...]) -> int:
    """Learn weights from the history, in a Spark job. `mesh weights learn --help` lists its options."""
    names = {argument.partition("=")[0] for argument in arguments}
    usual = [] if names & {"--to", "--help", "-h"} else ["--to", gathering.history_place(None)]
    return spark_child.run("weights", [*usual, *arguments])


def remarks(found: dict[str, Any]) -> list[str]:
    """Return the remarks below the table, or in its place."""
    said = []
    if not found["weights"]:
        cleared = f", since they were cleared by {found['by']}" if found["stamp"] else ""
        said.append(f"no weights: all nodes count equally{cleared}")
    else:
        until = _moment(found["expires"])
        ends = (
            f"expired at {until}: all nodes count equally" if found["expired"] else f"in force until {until}"
        )
        said.append(f"{ends}; computed at {_moment(found['made'])}, applied by {found['by']}")
    if found["behind"]:
        said.append(f"not yet in force at: {', '.join(found['behind'])}")
    return [*said, f"this node balances with {_strategy(found['strategy'])}"]


def _strategy(name: str) -> str:
    if name == "RoundRobin":
        return f"{name}, which ignores weights; set balancing.strategy in mesh.toml"
    return f"{name}, which {'uses' if name in OURS else 'receives'} weights"


def _moment(wall: int) -> str:
    """Return a local time and its distance: `2026-11-21 09:57:25 (in 5 d)`."""
    away = wall / 1e9 - time.time()
    far = f"in {plainly(away)}" if away > 0 else f"{plainly(-away)} ago"
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(wall / 1e9))} ({far})"
