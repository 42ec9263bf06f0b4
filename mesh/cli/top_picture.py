"""The nodes in `mesh top`, as a table for the width of the screen."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.text import Text

from mesh.cli import figures
from mesh.cli.options import count
from mesh.cli.table import Cell, fitting, table_of
from mesh.printable import harmless

BLOCKS = 8  # blocks of a bar
NodeFields = dict[str, Any]


class Column(NamedTuple):
    """A column. `cell` returns a node's cell. `order` returns its sort key, and is `None` if there is none.

    The largest key comes first.
    """

    title: str
    cell: Callable[[NodeFields], Cell]
    order: Callable[[NodeFields], float | None] | None = None


def _figure(title: str, key: str, cell: Callable[[Any], str]) -> Column:
    return Column(title, lambda node: cell(node.get(key)), lambda node: node.get(key))


def _load(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


COLUMNS = (
    Column("NODE", figures.name),
    Column("STATE", figures.state),
    Column("CPU", lambda node: figures.bar(figures.cpu(node), BLOCKS), figures.cpu),
    Column("RAM", lambda node: figures.percent(figures.ram(node)), figures.ram),
    _figure("LOAD", "load", _load),
    _figure("LAG", "lag", figures.seconds),
    _figure("PUB/S", "published", figures.number),
    _figure("DLV/S", "delivered", figures.number),
    _figure("PENDING", "pending", figures.number),
    _figure("TAIL-BACK", "waiting", figures.number),
    _figure("QUEUED", "queued", figures.number),
    _figure("LINKS", "links", figures.number),
    _figure("RTT", "rtt", figures.seconds),
    _figure("HEARD", "state_age", figures.seconds),
)
DROPPED = (
    "HEARD",
    "LINKS",
    "LAG",
    "PENDING",
    "RTT",
    "STATE",
    "RAM",
    "TAIL-BACK",
    "QUEUED",
    "DLV/S",
    "PUB/S",
    "LOAD",
)
TITLES = tuple(column.title for column in COLUMNS)
WORDS = ("NODE", "STATE", "CPU", "CPU ▼")  # aligned left; all others are numbers
ORDERS = ("", *(column.title for column in COLUMNS if column.order))  # "": by name


def next_order(order: str) -> str:
    """Return the order after `order`, in a cycle."""
    return ORDERS[(ORDERS.index(order) + 1) % len(ORDERS)]


def picture(found: dict[str, Any], order: str, console: Console, most: int | None = None) -> RenderableType:
    """Return the nodes as a table of at most `most` rows, without the columns that do not fit."""
    nodes = ordered(found["nodes"], order)
    rows = [[column.cell(node) for column in COLUMNS] for node in nodes[:most]]
    more = [] if len(rows) == len(nodes) else [Text(f"... and {count(len(nodes) - len(rows), 'node')} more")]
    header, dropped = ([_marked(title, order) for title in titles] for titles in (TITLES, DROPPED))
    table = table_of(*fitting(header, rows, console.width, dropped=dropped))
    for column in table.columns:
        column.justify = "left" if column.header in WORDS else "right"
    return Group(Text(harmless(summary(found)), no_wrap=True, overflow="ellipsis"), Text(), table, *more)


def _marked(title: str, order: str) -> str:
    return f"{title} ▼" if title == order else title


def ordered(nodes: list[NodeFields], order: str) -> list[NodeFields]:
    """Return the nodes by name, or by a column: the largest value first, unknown ones last."""
    by_name = sorted(nodes, key=lambda node: str(node["name"]))
    for column in COLUMNS:
        if column.title == order and column.order is not None:
            value = column.order
            return sorted(by_name, key=lambda node: -1.0 if (v := value(node)) is None else v, reverse=True)
    return by_name


def summary(found: dict[str, Any]) -> str:
    """Return a summary of the mesh in one line."""
    nodes = found["nodes"]
    states = [node["state"] for node in nodes]
    counts = " · ".join(f"{states.count(state)} {state}" for state in figures.STYLES if state in states)
    home = next((node["name"] for node in nodes if figures.is_self(node)), "?")
    published, delivered = (sum(node.get(what) or 0 for node in nodes) for what in ("published", "delivered"))
    return (
        f"{time.strftime('%H:%M:%S')}  as {home} sees it: {counts} · {published:,.0f} published/s · "
        f"{delivered:,.0f} delivered/s"
    )
