"""`mesh counter`: reads counters and adds to them."""

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import print_data, tell_json
from mesh.cli.table import tell_table
from mesh.features.spaces.cli.common import accept_loss, force, group_option, stopped, tell_move, to
from mesh.features.spaces.model.space import LEAST, MOST
from mesh.printable import harmless

name = click.argument("name", metavar="COUNTER")
group = group_option("Use the counters of the group NAME.")


@click.group("counter")
def command() -> None:
    """Read counters, which all nodes share, and add to them."""


@command.command("ls")
@group
@options.as_json
@options.url
def ls(group: str, as_json: bool, url: str | None) -> int:
    """List the counters of a group. Exit code 1: there are none."""
    with sync.connect(url) as m:
        found = m.counter("any", group=group).items()
    if as_json:
        tell_json(found)
    else:
        tell_table(("COUNTER", "VALUE"), [(harmless(key), f"{value:,}") for key, value in found.items()])
    return 0 if found else 1


@command.command("get")
@name
@group
@options.url
def get(name: str, group: str, url: str | None) -> None:
    """Print the value of COUNTER, or 0 if it does not exist."""
    with sync.connect(url) as m:
        print_data([str(m.counter(name, group=group).value())])


@command.command("add", context_settings={"ignore_unknown_options": True})
@name
@click.argument("amount", type=click.IntRange(LEAST, MOST), default=1)
@group
@options.url
def add(name: str, amount: int, group: str, url: str | None) -> None:
    """Add AMOUNT (1 by default), and print the new value."""
    with sync.connect(url) as m:
        print_data([str(m.counter(name, group=group).add(amount))])


@command.command("rm")
@click.argument("name", metavar="[COUNTER]", required=False)
@click.option("--all", "is_all", is_flag=True, help="Remove all counters of the group.")
@group
@options.url
def rm(name: str | None, is_all: bool, group: str, url: str | None) -> int:
    """Remove COUNTER, or all counters of a group. Exit code 1: there is no such counter."""
    if is_all == (name is not None):
        raise click.UsageError("Name a COUNTER, or use --all.")
    with sync.connect(url) as m:
        if name is not None:
            return 0 if m.counter(name, group=group).remove() else 1
        m.counter("any", group=group).drop_group()
    return 0


@command.command("move")
@group
@to
@force
@stopped
@accept_loss
@options.url
def move(
    group: str, to: str, force: bool, stopped: tuple[str, ...], accept_loss: bool, url: str | None
) -> int:
    """Move the counters of a group to another home.

    With --force: exit code 1 if they were not moved.
    """
    with sync.connect(url) as m:
        counters = m.counter("any", group=group)
        report = counters.move(to, force=force, stopped=stopped, accept_loss=accept_loss)
    return tell_move(f"the counters of group {harmless(group)}", to, report, force)
