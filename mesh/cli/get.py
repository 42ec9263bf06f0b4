"""`mesh get`: the last value of a topic, or of all that match."""

import sys

import click

from mesh import sync
from mesh.cli import options, show
from mesh.cli.options import say, tell_json


@click.command("get")
@click.argument("key", metavar="KEY|PATTERN")
@options.domain
@click.option("--raw", is_flag=True, help="Only the content, byte for byte, and a newline.")
@options.as_json
@options.url
def command(key: str, domain: str | None, raw: bool, as_json: bool, url: str | None) -> int:
    """Print the last value of a topic, or of all that match a pattern such as 'sensors/#'.

    Exit code 1 when there is none.
    """
    with sync.connect(url) as m:
        found = m.get(**options.query(key), domain=domain)
    if as_json:
        tell_json([show.described(message) for message in found])
    else:
        lines = (message.content + b"\n" if raw else show.line(message) for message in found)
        sys.stdout.buffer.write(b"".join(lines))
        sys.stdout.buffer.flush()
    if not found:
        say(f"mesh: nobody has published {key!r}, or its nodes cannot be reached (see `mesh ls`).")
    return 0 if found else 1
