"""What do several verbs share? Their options, and where they talk."""

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

if TYPE_CHECKING:
    from mesh.sync import Client

EVENTS = {
    "disconnected": "the node is away ({}); waiting for it",
    "connected": "the node is back",
    "refused": "the node refuses: {}",
    "refused-later": "refused, after it waited: {}",
    "waiting": "{}",
}
logging.getLogger("mesh.client").addHandler(logging.NullHandler())  # a command says itself what happens


class FiniteNumber(click.FloatRange):
    """A number within bounds, that ends."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):  # "nan" is neither too small nor too large
            self.fail(f"{number} is no number that ends.", param, ctx)
        return number


CLUSTER_VARIABLES = [
    "MESH_CLUSTER",
    "MESH_NODE__CLUSTER",
]  # the first that is set; `mesh up` reads the second
url = click.option(
    "--url",
    metavar="ADDRESS",
    envvar="MESH_URL",
    show_envvar=True,
    help="The node: its name as in `mesh ls`, tcp://HOST[:PORT] or ipc://PATH. Default: the only one here.",
    shell_complete=complete_nodes,
)
keyed_mesh = click.option(
    "--cluster",
    metavar="NAME",
    envvar=CLUSTER_VARIABLES,
    show_envvar=True,
    help="Which mesh. Default: the only one here.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
domain = click.option("--domain", metavar="NAME", help="The topic domain. Default: none.")
file = click.option(
    "--file", type=click.File("rb"), metavar="FILE", help="A message for each of its lines. Default: stdin."
)
persistent = click.option("--persistent", is_flag=True, help="Answered only when it is on disk.")
header = click.option("--header", "given", multiple=True, metavar="NAME=VALUE", help="Can be repeated.")
expiry = click.option(
    "--expiry", type=FiniteNumber(min=0, min_open=True), metavar="SECONDS", help="Void after so long."
)
no_relay = click.option("--no-relay", is_flag=True, help="It goes to no other site.")
client = click.option("--client", metavar="NAME", help="Who I am. Default: the user's name.")
session = click.option(
    "--session",
    type=click.IntRange(min=1),
    metavar="N",
    help="Which of its sessions I am. Default: a new one, with a number below 0.",
)
most = click.option(
    "--count", "most", type=click.IntRange(min=1), metavar="N", help="End after so many messages."
)
wait = click.option(
    "--wait",
    type=FiniteNumber(min=0, min_open=True),
    metavar="SECONDS",
    help="End after so long, with exit code 124.",
)
timeout = click.option(
    "--timeout",
    type=FiniteNumber(min=0, min_open=True),
    metavar="SECONDS",
    help="End with exit code 124 if an answer takes longer. Default: wait for it.",
)
raw = click.option("--raw", is_flag=True, help="Only the content, byte for byte, and a newline.")
json_lines = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


def headers(given: tuple[str, ...]) -> Headers | None:
    """The headers of --header, as it was given."""
    pairs = []
    for text in given:
        name, assigned, value = text.partition("=")
        if not name or not assigned:
            raise click.UsageError(f"--header {text!r} is not NAME=VALUE.")
        pairs.append((name, value))
    return Headers(pairs) if pairs else None


def limits(timeout: float | None) -> dict[str, Any]:
    """The options of a client that waits so long for its node, and for each answer; None: as usual."""
    return {} if timeout is None else {"timeout": timeout, "patience": timeout}


def query(text: str) -> dict[str, Any]:
    """A text with a whole level + or # is a pattern, any other a key: arguments for `subscribe` and `get`."""
    is_pattern = any(level in ("+", "#") for level in text.split("/"))
    return {"pattern" if is_pattern else "key": text}


def in_domain(domain: str | None) -> str:
    """The option as it is typed, with a blank behind it; nothing where there is no domain."""
    return f"--domain {shlex.quote(domain)} " if domain else ""


def say(text: str) -> None:
    """Talk, in one line: stdout is for data."""
    click.echo(harmless(text), file=sys.stderr)


def tell(lines: Iterable[str]) -> None:
    """Data for people, on stdout."""
    click.echo("\n".join(map(harmless, lines)))


def tell_json(value: Any) -> None:
    """One document on stdout."""
    click.echo(json.dumps(value, indent=2 if sys.stdout.isatty() else None))


def plainly(seconds: float) -> str:
    """A duration as people read it: "0.4 ms", "12 ms", "3.4 s", "2 m", "5 h", "3 d"."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    if seconds >= 1:
        return re.sub(r"\.0$", "", f"{seconds:.1f}") + " s"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"


def size(number: int) -> str:
    """Bytes as people read them: "12 B", "1.2 KB", "34 MB", in thousands."""
    for scale, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if number >= scale:
            return re.sub(r"\.0$", "", f"{number / scale:.1f}") + f" {unit}"
    return f"{number} B"


def tell_of_connection(m: "Client") -> None:
    """Say when the node goes away and when it is back, and what was refused after all."""

    def follow() -> None:
        try:
            for event in m.events():
                if event.kind in EVENTS:
                    say(EVENTS[event.kind].format(event.text))
        except Closed:
            pass

    threading.Thread(target=follow, name="mesh-events", daemon=True).start()
