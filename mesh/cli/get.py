"""`mesh get`: prints the retained values of a topic or of all that match."""

import sys

import click

from mesh import sync
from mesh.cli import options, show
from mesh.cli.completing import complete_topics
from mesh.cli.options import count, plainly, print_message, tell_json
from mesh.client.message import Message


@click.command("get")
@click.argument("key", metavar="KEY|PATTERN", shell_complete=complete_topics)
@options.read_domain
@options.raw
@click.option("--fresh", is_flag=True, help="Ask the master even if a nearer node has the value.")
@options.history
@options.timeout
@options.as_json
@options.url
def command(
    key: str,
    domain: str | None,
    raw: bool,
    fresh: bool,
    history: int,
    timeout: float | None,
    as_json: bool,
    url: str | None,
) -> int:
    """Print the retained value of a topic, or of all topics that match a pattern such as 'sensors/#'.

    With --json, `source` is the node that supplied the value, and `stale` the seconds since the master of the
    value was last reachable. Exit code 1: no value was found.
    """
    with sync.connect(url, **options.limits(timeout)) as m:
        found = m.get(**options.query(key), domain=domain, fresh=fresh, history=history)
    if as_json:
        tell_json([show.described_found(message) for message in found])
    else:
        line = show.raw_line if raw else show.line
        sys.stdout.buffer.write(b"".join(map(line, found)))
        sys.stdout.buffer.flush()
        _tell_stale(found)
    if not found:
        print_message(f"mesh: topic {key!r} has no value, or its nodes cannot be reached (see `mesh ls`).")
    return 0 if found else 1


def _tell_stale(found: list[Message]) -> None:
    ages = [message.stale for message in found if message.stale is not None]
    if ages:
        what = count(len(ages), "value")
        print_message(f"{what} may be stale: the master has been unreachable for up to {plainly(max(ages))}")
