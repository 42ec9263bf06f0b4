"""`mesh why`: why does something wait?"""

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.options import say, tell_json
from mesh.cli.table import tell_table
from mesh.printable import harmless
from mesh.wire.replies import QueueWhy, read_result


@click.group("why")
def command() -> None:
    """Why does something wait?"""


@command.command("queue")
@click.argument("name")
@options.as_json
@options.url
def queue(name: str, as_json: bool, url: str | None) -> int:
    """Print why messages are in the queue NAME, at each node. Exit code 1 when none is."""
    with sync.connect(url) as m:
        found = read_result(QueueWhy, m.call("queue_why", name=name))
    if as_json:
        tell_json(to_builtins(found))
    elif found.rows:
        rows = [(row.node, f"{row.messages:,}", row.why) for row in found.rows]
        tell_table(("NODE", "MESSAGES", "WHY"), rows, folded="WHY")
    else:
        say(f"nothing is in {name}")
    if found.missing and not as_json:
        say(f"without what is at {', '.join(map(harmless, found.missing))}, which did not answer")
    return 0 if found.rows else 1
