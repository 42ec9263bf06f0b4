"""`mesh ls`: who is there, and how do we stand with each?"""

from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import plainly, tell_json
from mesh.cli.table import tell_table

HEADER = ("NODE", "ADDRESS", "VIA", "LINK", "DATA", "RTT", "BOOT", "AGE")
SCOPES = {"mesh": "every node is master of what its own clients publish"}


@click.command("ls")
@options.url
@options.as_json
def command(url: str | None, as_json: bool) -> None:
    """Which nodes are there? `*` is the one that was asked.

    LINK: how it stands with each. DATA: is there a link for messages? AGE: since it was last heard.
    """
    with sync.connect(url) as m:
        found = m.call("ls")
    if as_json:
        tell_json(found)
        return
    nodes = found["nodes"]
    tell_table(HEADER, [_row(node) for node in nodes])
    click.echo(f"\ndefault-scope {found['scope']}: {SCOPES[found['scope']]}")
    if len(nodes) == 1:
        address = nodes[0]["address"]
        click.echo(f"Only this node is visible. To add one:  mesh up --id NAME --peer {address}")


def _row(node: dict[str, Any]) -> tuple[str, ...]:
    is_self = node["via"] == "self"
    link = node["link"] if node["state"] == "alive" else f"{node['state']}, {node['link']}"
    return (
        f"{node['name']} *" if is_self else node["name"],
        node["address"].removeprefix("tcp://"),
        node["via"],
        link,
        "yes" if node["data"] else "-",
        plainly(node["rtt"]) if node["rtt"] else "-",
        str(node["boot"]),
        "-" if is_self else plainly(node["age"]),
    )
