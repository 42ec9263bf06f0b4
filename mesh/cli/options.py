"""Options and output functions that several verbs share."""

import json
import logging
import math
import re
import shlex
import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from mesh.cli.completing import complete_nodes
from mesh.errors import Closed
from mesh.printable import count as count
from mesh.printable import harmless
from mesh.values import Headers
from mesh.wire.limits import HISTORY_MESSAGES

if TYPE_CHECKING:
    from mesh.sync import Client

EVENTS = {
    "disconnected": "node is unreachable ({}); waiting",
    "connected": "node is reachable again",
    "refused": "node refused the connection: {}",
    "refused-later": "refused after a wait: {}",
    "waiting": "{}",
}
logging.getLogger("mesh.client").addHandler(logging.NullHandler())  # a command reports events itself


class FiniteNumber(click.FloatRange):
    """A number within bounds that is neither infinite nor NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):  # "nan" passes the bounds
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


history = click.option(
    "--history",
    type=click.IntRange(1, HISTORY_MESSAGES),
    default=1,
    metavar="N",
    help="Begin with the latest N messages of each topic, at most as many as its rule keeps. Default: 1.",
)
CLUSTER_VARIABLES = [
    "MESH_CLUSTER",
    "MESH_NODE__CLUSTER",
]  # the first that is set; `mesh up` reads the second
url = click.option(
    "--url",
    metavar="ADDRESS",
    envvar="MESH_URL",
    show_envvar=True,
    help="Node to ask: a name as in `mesh ls`, tcp://HOST[:PORT] or ipc://PATH. Default: the only one here.",
    shell_complete=complete_nodes,
)
keyed_mesh = click.option(
    "--cluster",
    metavar="NAME",
    envvar=CLUSTER_VARIABLES,
    show_envvar=True,
    help="Name of the mesh. Default: the only one with keys of this user.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
domain = click.option("--domain", metavar="NAME", help="Domain of the topic. Default: none.")
read_domain = click.option(
    "--domain", metavar="NAME", help="Select only topics of the domain NAME. Default: topics of any domain."
)
file = click.option(
    "--file",
    type=click.File("rb"),
    metavar="FILE",
    help="Send each line of FILE as a message. Default: CONTENT, or else each line of stdin.",
)
persistent = click.option("--persistent", is_flag=True, help="Confirm after the message is on disk.")
header = click.option(
    "--header", "given", multiple=True, metavar="NAME=VALUE", help="Add a header. Can be repeated."
)
expiry = click.option(
    "--expiry",
    type=FiniteNumber(min=0, min_open=True),
    metavar="SECONDS",
    help="Expire messages after SECONDS. Default: never.",
)
no_relay = click.option(
    "--no-relay", is_flag=True, help="Keep the message in this site instead of forwarding it to others."
)
client = click.option(
    "--client", metavar="NAME", help="Connect as the client NAME. Default: the user's name."
)
session = click.option(
    "--session",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of the client's session. Default: a new session, with a number below 0.",
)
most = click.option(
    "--count", "most", type=click.IntRange(min=1), metavar="N", help="End after N messages. Default: never."
)
wait = click.option(
    "--wait",
    type=FiniteNumber(min=0, min_open=True),
    metavar="SECONDS",
    help="End after SECONDS with exit code 124. Default: never.",
)
timeout = click.option(
    "--timeout",
    type=FiniteNumber(min=0, min_open=True),
    metavar="SECONDS",
    help="End with exit code 124 if an answer takes longer than SECONDS. Default: no limit.",
)
raw = click.option("--raw", is_flag=True, help="Print only the content, byte for byte, and a newline.")
json_lines = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")


def headers(given: tuple[str, ...]) -> Headers | None:
    """Return the headers that --header options give."""
    pairs = []
    for text in given:
        name, assigned, value = text.partition("=")
        if not name or not assigned:
            raise click.UsageError(f"--header {text!r} is not NAME=VALUE.")
        pairs.append((name, value))
    return Headers(pairs) if pairs else None


def limits(timeout: float | None) -> dict[str, Any]:
    """Return client arguments that limit the wait for the node and for each answer; `None`: the defaults."""
    return {} if timeout is None else {"timeout": timeout, "patience": timeout}


def query(text: str) -> dict[str, Any]:
    """Return a `pattern` argument if a level of `text` is + or #, else a `key` argument."""
    is_pattern = any(level in ("+", "#") for level in text.split("/"))
    return {"pattern" if is_pattern else "key": text}


def in_domain(domain: str | None) -> str:
    """Return the --domain option as typed, with a trailing space, or "" without a domain."""
    return f"--domain {shlex.quote(domain)} " if domain else ""


def print_message(text: str) -> None:
    """Print a message on stderr, as stdout is for data."""
    click.echo(harmless(text), file=sys.stderr)


def print_data(lines: Iterable[str]) -> None:
    """Print lines of data on stdout, with unsafe characters escaped."""
    click.echo("\n".join(map(harmless, lines)))


def tell_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    click.echo(json.dumps(value, indent=2 if sys.stdout.isatty() else None))


def plainly(seconds: float) -> str:
    """Return a duration as people read it: "0.4 ms", "12 ms", "3.4 s", "2 m", "5 h", "3 d"."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    if seconds >= 1:
        return re.sub(r"\.0$", "", f"{seconds:.1f}") + " s"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"


def size(number: int) -> str:
    """Return a size as people read it: "12 B", "1.2 KB", "34 MB", in powers of 1000."""
    for scale, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if number >= scale:
            return re.sub(r"\.0$", "", f"{number / scale:.1f}") + f" {unit}"
    return f"{number} B"


def tell_of_connection(m: "Client") -> None:
    """Report on stderr when the node disconnects or returns, and later refusals."""

    def follow() -> None:
        try:
            for event in m.events():
                if event.kind in EVENTS:
                    print_message(EVENTS[event.kind].format(event.text))
        except Closed:
            pass

    threading.Thread(target=follow, name="mesh-events", daemon=True).start()
