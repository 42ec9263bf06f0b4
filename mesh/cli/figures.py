"""Formats a node's figures for table cells."""

from collections.abc import Iterable
from typing import Any

from rich.text import Text

from mesh.cli.options import plainly, size
from mesh.client import asking
from mesh.local.addresses import is_loopback
from mesh.printable import harmless

NOTHING = {"messages": 0, "bytes": 0, "age": 0}
STYLES = {
    "seen": "dim",
    "alive": "",
    "draining": "yellow",
    "suspect": "yellow",
    "dead": "red",
    "left": "dim",
    "conflict": "bold red",
}
BAR, FULL = "█", "░"
CALM, BUSY = 60, 85  # percent: green below the first, red from the second


def name(node: dict[str, Any]) -> str:
    """Return the name, with a star if it is the node that was asked."""
    return f"{node['name']} *" if is_self(node) else str(node["name"])


def is_self(node: dict[str, Any]) -> bool:
    return bool(node["via"] == "self")


def address(node: dict[str, Any]) -> str:
    """Return the address, or "-" for a node that cannot be dialed or has left."""
    is_there = node["state"] != "left"
    return (str(node["address"]).removeprefix("tcp://") if is_there else "") or "-"


def has_outside(nodes: Iterable[dict[str, Any]]) -> bool:
    """Return whether a node has an address that leads to more than one machine."""
    return any(node["address"] and not is_loopback(node["address"]) for node in nodes)


def marked_address(node: dict[str, Any], has_outside: bool) -> str:
    """Return the address; a loopback address is marked if `has_outside`."""
    is_local = has_outside and is_loopback(node["address"]) and node["state"] != "left"
    return f"{address(node)} (local)" if is_local else address(node)


def is_listed(node: dict[str, Any]) -> bool:
    """Return whether the node is listed without --all."""
    return is_self(node) or asking.is_listed(str(node["state"]), int(tailback(node)["messages"]))


def state(node: dict[str, Any]) -> Text:
    """Return the state, colored unless the node is alive and not being drained."""
    found = "draining" if node["state"] == "alive" and node.get("leaving") else node["state"]
    return Text(harmless(found), STYLES.get(found, ""))


def cpu(node: dict[str, Any]) -> float | None:
    """Return the used CPU in percent, over all cores, or `None` if it is unknown."""
    used = node.get("cpu")
    return None if used is None else float(used)


def ram(node: dict[str, Any]) -> float | None:
    """Return the used memory in percent, or `None` if it is unknown."""
    free, total = node.get("ram_free"), node.get("ram_total")
    return None if free is None or not total else 100 * (1 - free / total)


def percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} %"


def bar(value: float | None, width: int) -> Text:
    """Return a bar of `width` blocks, and the number; "-" for `None`."""
    if value is None:
        return Text("-")
    filled = round(min(100.0, max(0.0, value)) / 100 * width)
    style = "green" if value < CALM else "yellow" if value < BUSY else "red"
    return Text.assemble((BAR * filled, style), (FULL * (width - filled), "dim"), f" {value:3.0f} %")


def free(node: dict[str, Any]) -> str:
    """Return the free memory as text; "-" if unknown."""
    left = node.get("ram_free")
    return "-" if left is None else size(left)


def seconds(value: float | None) -> str:
    """Return a duration, or "-" if it is zero or was not measured."""
    return plainly(value) if value else "-"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def version(node: dict[str, Any]) -> str:
    return str(node.get("software") or "-").removeprefix("heronry ")


def tailback(node: dict[str, Any]) -> dict[str, Any]:
    """Return the messages, bytes and age of the outbound buffer for `node`."""
    return node.get("tailback") or NOTHING  # an older release sends none


def queued(queue: dict[str, Any]) -> str:
    """Return the number of waiting messages and the age of the oldest as text; "-" if none waits."""
    return f"{queue['messages']:,}, {plainly(queue['age'])}" if queue["messages"] else "-"
