"""What do several verbs share? Their options, and where they talk."""

import json
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from mesh.errors import Closed

if TYPE_CHECKING:
    from mesh.sync import Client

url = click.option(
    "--url", metavar="ADDRESS", envvar="MESH_URL", show_envvar=True,
    help="The node: its name, tcp://HOST:PORT or ipc://PATH. Default: the only one here.",
)  # fmt: skip
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
domain = click.option("--domain", metavar="NAME", help="The topic domain. Default: none.")


def query(text: str) -> dict[str, Any]:
    """A text with a whole level + or # is a pattern, any other a key: arguments for `subscribe` and `get`."""
    is_pattern = any(level in ("+", "#") for level in text.split("/"))
    return {"pattern" if is_pattern else "key": text}


def say(text: str) -> None:
    """Talk: stdout is for data."""
    click.echo(text, file=sys.stderr)


def tell_json(value: Any) -> None:
    """One document on stdout."""
    click.echo(json.dumps(value, indent=2 if sys.stdout.isatty() else None))


def count(number: int, noun: str) -> str:
    """ "1 message", "1,234 messages"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def plainly(seconds: float) -> str:
    """A duration as people read it: "0.4 ms", "12 ms", "3.4 s", "2 m", "5 h", "3 d"."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    if seconds >= 1:
        return re.sub(r"\.0$", "", f"{seconds:.1f}") + " s"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"


def tell_of_connection(m: "Client") -> None:
    """Say when the node goes away, and when it is back."""

    def follow() -> None:
        words = {"disconnected": "the node is away ({}); waiting for it", "connected": "the node is back",
                 "refused": "the node refuses: {}"}  # fmt: skip
        try:
            for event in m.events():
                say(words[event.kind].format(event.text))
        except Closed:
            pass

    threading.Thread(target=follow, name="mesh-events", daemon=True).start()
