"""`mesh where`: prints the nodes that have a name."""

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.completing import complete_nodes
from mesh.cli.options import print_message, tell_json
from mesh.cli.table import tell_table
from mesh.errors import BadName
from mesh.printable import harmless
from mesh.values import check_text

HEADER = ("KIND", "NAME", "NODE", "STATE", "COUNT", "NODE IS", "ADDRESS", "REPORTED BY")
DROPPED = ("ADDRESS", "COUNT", "NODE IS")  # dropped first on a narrow terminal
UNCOUNTED = ("node", "site")  # kinds without a number worth a column


@click.command("where")
@click.argument("name", shell_complete=complete_nodes)
@options.as_json
@options.url
def command(name: str, as_json: bool, url: str | None) -> int:
    """Print the nodes that have NAME: a node, client, session, address, queue or site.

    If several objects have NAME, all are printed. To select one, write its kind: node/heron, client/joe,
    address/calc/add, queue/orders or site/FRA.

    \b
    STATE        of a client: connected or away; of an address: served;
                 of a queue: consumed, waiting (has messages) or empty; of a site: up, down, unreachable,
                 known (configured only) or own; of any: reported (not confirmed by its node)
    COUNT        sessions of the client, servers of the address, messages in the queue
    NODE IS      state of the node in `mesh ls`; "unknown": the asked node has never met it
    REPORTED BY  the node that says so: the node itself, or another one

    Exit code 2: no node has NAME.
    """
    check_text(name, "name", len(name), BadName)  # the node reports a text that is too long
    with sync.connect(url) as m:
        place = m.where(name)
    if as_json:
        tell_json(to_builtins(place))
        return 0
    rows = [
        (
            row.kind,
            harmless(row.name),
            row.node,
            row.state,
            "" if row.kind in UNCOUNTED else f"{row.count:,}",
            row.life or "unknown",
            harmless(row.address) or "-",
            "itself" if row.by == row.node else row.by,
        )
        for each in (place, *place.others)
        for row in each.sightings
    ]
    tell_table(HEADER, rows, dropped=DROPPED)
    if place.missing:
        print_message(f"The list may be incomplete. No answer from {', '.join(map(harmless, place.missing))}")
    return 0
