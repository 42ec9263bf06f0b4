"""`mesh tally`: reads tallies."""

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import print_data, print_message, tell_json
from mesh.cli.table import tell_table
from mesh.features.spaces.cli.common import pages
from mesh.printable import harmless
from mesh.wire.replies import TallyNames


@click.group("tally")
def command() -> None:
    """Read tallies, to which every node adds by itself."""


@command.command("ls")
@options.as_json
@options.url
def ls(as_json: bool, url: str | None) -> int:
    """List the tallies that the node knows. Exit code 1: there are none."""
    with sync.connect(url) as m:
        found = [name for page in pages(m, TallyNames, "tallies") for name in page.names]
        values = [(name, m.tally(name).value().value) for name in found]
    if as_json:
        tell_json(dict(values))
    else:
        tell_table(("TALLY", "VALUE"), [(harmless(name), f"{value:,}") for name, value in values])
    return 0 if found else 1


@command.command("get")
@click.argument("name", metavar="TALLY")
@options.as_json
@options.url
def get(name: str, as_json: bool, url: str | None) -> None:
    """Print the value of TALLY, and the nodes whose additions may be missing."""
    with sync.connect(url) as m:
        found = m.tally(name).value()
    if as_json:
        tell_json({"value": found.value, "missing": found.missing})
        return
    print_data([str(found.value)])
    if found.missing:
        nodes = ", ".join(map(harmless, found.missing))
        print_message(f"mesh: these nodes did not answer, so additions may be missing: {nodes}")
