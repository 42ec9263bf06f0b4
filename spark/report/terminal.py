"""The report on a terminal, on one screen: figures, nodes and findings."""

from collections.abc import Callable
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, decimal, duration, number, percent, short
from mesh.history.report.findings import findings, verdict
from mesh.history.report.findings.finding import BAD, GOOD, NOTE, RANKS, WARN, Finding
from mesh.history.report.headline import headline, name, span
from mesh.history.report.node_rows import Node

NODES, ROOM = 10, 16  # nodes, lines of findings: at most 40 lines in all
GAP = 2  # between columns
STYLES = {BAD: "bold red", WARN: "yellow", NOTE: "dim", GOOD: "green"}
LONGEST_RANK = max(map(len, RANKS.values()))
COLUMNS: dict[str, Callable[[Node], str]] = {
    "NODE": lambda node: short(node.name, 24),
    "SHARE": lambda node: percent(node.share, 1),
    "CAPACITY": lambda node: percent(node.fair_share, 1),
    "CPU": lambda node: percent(node.cpu_percent),
    "LOAD": lambda node: decimal(node.load_share),
    "LAG": lambda node: duration(node.lag_s),
    "RAM": lambda node: percent(node.ram_peak_percent),
    "ACCEPTED/S": lambda node: decimal(node.published_per_s),
    "DELIVERED/S": lambda node: decimal(node.delivered_per_s),
    "WAITING": lambda node: number(node.waiting),
    "DEATHS": lambda node: number(node.deaths),
}
DROPPED = (
    "RAM",
    "LOAD",
    "DELIVERED/S",
    "WAITING",
    "ACCEPTED/S",
    "CAPACITY",
    "SHARE",
)  # if there is no room for all


def summary(facts: Facts, width: int) -> RenderableType:
    """Return at most 40 lines for a terminal that is `width` columns wide."""
    lines = counted(sum(facts.kinds.values()), "line")
    title = Text(f"{name(facts)} · {span(facts)} · {lines}", style="bold", no_wrap=True, overflow="ellipsis")
    if not facts.nodes:
        return Group(title, Text("There are no lines for this time."))
    title.append(f"\n{verdict(facts)}")
    parts = _headline(facts), _nodes(facts, width), _findings(findings(facts), width)
    return Group(title, *(piece for part in parts for piece in (Text(), part)))


def _headline(facts: Facts) -> Table:
    table, figures = _table(), headline(facts)
    values = [short(figure.value, 24) for figure in figures]
    # On a narrow terminal the notes are shortened first.
    table.add_column(no_wrap=True, min_width=max(len(figure.label) for figure in figures))
    table.add_column(justify="right", no_wrap=True, min_width=max(map(len, values)), style="bold")
    table.add_column(no_wrap=True, overflow="ellipsis", style="dim")
    for figure, value in zip(figures, values, strict=True):
        table.add_row(figure.label, Text(value), Text(figure.note))
    return table


def _nodes(facts: Facts, width: int) -> RenderableType:
    table = _table(has_header=True)
    cells = {
        title: [Text(cell(node)) for node in facts.nodes[:NODES]]
        for title, cell in _columns(facts, width).items()
    }
    for title in cells:
        table.add_column(title, justify="left" if title == "NODE" else "right", no_wrap=True)
    for row in zip(*cells.values(), strict=True):
        table.add_row(*row)
    left = len(facts.nodes) - NODES
    return Group(table, Text(f"the busiest; and {left:,} more", "dim")) if left > 0 else table


def _columns(facts: Facts, width: int) -> dict[str, Callable[[Node], str]]:
    shown = dict(COLUMNS)
    wide = {
        title: GAP + max(len(title), *(len(cell(node)) for node in facts.nodes[:NODES]))
        for title, cell in COLUMNS.items()
    }
    for title in DROPPED:
        if sum(wide[title] for title in shown) <= width + GAP:
            break
        del shown[title]
    return shown


def _findings(found: list[Finding], width: int) -> RenderableType:
    table = _table()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    room = ROOM
    for number_shown, finding in enumerate(found):
        room -= len(wrap(finding.text, max(20, width - LONGEST_RANK - GAP), break_on_hyphens=False))
        if room < 0:
            left = Text(f"and {len(found) - number_shown:,} more, shown by --html FILE", "dim")
            return Group(table, left)
        table.add_row(Text(RANKS[finding.rank], STYLES[finding.rank]), Text(finding.text))
    return table


def _table(has_header: bool = False) -> Table:
    return Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=has_header, header_style="dim")
