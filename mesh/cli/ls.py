"""`mesh ls`: who is there, and how do we stand with each?"""

from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import count, plainly, size, tell_json
from mesh.cli.table import tell_table

HEADER = ("NODE", "ADDRESS", "VIA", "LINK", "DATA", "RTT", "BOOT", "AGE")
TAIL_BACK = "TAIL-BACK"
SCOPES = {
    "mesh": "without a rule, a node is master of what its clients publish",
    "local": "without a rule, what has a domain waits for a master",
}
NOTHING = {"messages": 0, "bytes": 0, "age": 0}


@click.command("ls")
@options.url
@options.as_json
def command(url: str | None, as_json: bool) -> None:
    """Which nodes are there? `*` is the one that was asked.

    LINK: how it stands with each. DATA: is there a link for messages? AGE: since it was last heard.
    TAIL-BACK, if anything waits: how many messages wait here for that node, and for how long.
    """
    with sync.connect(url) as m:
        found = m.call("ls")
    if as_json:
        tell_json(found)
        return
    nodes = found["nodes"]
    waits = any(_tailback(node)["messages"] for node in nodes)
    tell_table((*HEADER, TAIL_BACK) if waits else HEADER, [_row(node, waits) for node in nodes])
    click.echo("\n" + "\n".join(remarks(found)))


def remarks(found: dict[str, Any]) -> list[str]:
    """What is to be said below the table."""
    scope = found["scope"]
    said = [f"default-scope {scope}: {SCOPES[scope]}"]
    if found.get("links") == "configured":
        said.append("links configured: it links only the nodes that its mesh.toml names")
    unknown = found.get("unknown", NOTHING)
    if unknown["messages"]:
        what = f"{count(unknown['messages'], 'message')} ({size(unknown['bytes'])})"
        said += [
            f"waiting for whom nobody knows: {what}, for up to {plainly(unknown['age'])}",
            "  to see why:  mesh route KEY --domain NAME      mesh route --to DESTINATION",
        ]
    if len(found["nodes"]) == 1:
        address = found["nodes"][0]["address"]
        said.append(f"Only this node is visible. To add one:  mesh up --id NAME --peer {address}")
    return said


def _row(node: dict[str, Any], waits: bool) -> tuple[str, ...]:
    is_self = node["via"] == "self"
    link = node["link"] if node["state"] == "alive" else f"{node['state']}, {node['link']}"
    row = (
        f"{node['name']} *" if is_self else node["name"],
        node["address"].removeprefix("tcp://"),
        node["via"],
        link,
        "yes" if node["data"] else "-",
        plainly(node["rtt"]) if node["rtt"] else "-",
        str(node["boot"]),
        "-" if is_self else plainly(node["age"]),
    )
    return (*row, queued(_tailback(node))) if waits else row


def _tailback(node: dict[str, Any]) -> dict[str, Any]:
    return node.get("tailback") or NOTHING  # an older node has none


def queued(queue: dict[str, Any]) -> str:
    """How many messages wait, and for how long."""
    return f"{queue['messages']:,}, {plainly(queue['age'])}" if queue["messages"] else "-"
