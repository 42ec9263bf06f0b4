"""Options, reports and paging that the commands of maps, counters, locks and tallies share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from mesh import sync
from mesh.cli.options import print_message
from mesh.features.spaces.client.space import MoveReport
from mesh.printable import harmless
from mesh.wire.replies import LockRows, SpaceList, TallyNames, read_result

F = TypeVar("F", bound=Callable[..., Any])
Page = TypeVar("Page", LockRows, SpaceList, TallyNames)


def group_option(text: str) -> Callable[[F], F]:
    """Return the option `--group` with its help."""
    return click.option("--group", default="default", show_default=True, metavar="NAME", help=text)


to = click.option("--to", metavar="NODE", required=True, help="The new home.")
force = click.option("--force", is_flag=True, help="The home is lost: begin with copies of other nodes.")
stopped = click.option(
    "--stopped",
    metavar="NODE",
    multiple=True,
    help="With --force: the home or a voter that is lost for good, if too few voters are left. Repeatable.",
)
accept_loss = click.option(
    "--accept-loss", is_flag=True, help="With --force: move. Otherwise only count the copies."
)


def pages(m: sync.Client, says: type[Page], verb: str, **asked: str) -> Iterator[Page]:
    """Yield the pages of an answer, one call each."""
    after = ""
    while True:
        page = read_result(says, m.call(verb, **asked, after=after))
        yield page
        after = page.next
        if not after:
            return


def tell_move(name: str, to: str, report: MoveReport, force: bool) -> int:
    """Print the report of a move of the space that `name` describes. Return the exit code."""
    home = harmless(to)
    if force:
        ages = f", {report.newest:,.0f} to {report.oldest:,.0f} s old" if report.copies else ""
        print_message(f"{home} begins with {report.copies:,} copies{ages}; other values are lost")
    if report.moved:
        print_message(f"the home of {name} is {home}")
        return 0
    print_message("nothing was moved.  To move it:  add --accept-loss")
    return 1
