"""The section about load."""

from mesh.history.report.charts.over_time import bands, heat, lines
from mesh.history.report.facts import Facts, Series
from mesh.history.report.figures import decimal, duration, number, percent
from mesh.history.report.markup import Html
from mesh.history.report.node_rows import Node
from mesh.history.report.sampling import mean
from mesh.history.report.sections.section import (
    FEW,
    Section,
    axis,
    drawn,
    findable,
    in_words,
    milliseconds,
    nothing,
)

ROWS = 300  # of a heat map, one or two pixels each
COLUMNS = (
    "Node",
    "CPU mean",
    "CPU peak",
    "Load, 0 to 1",
    "Loop delay, median",
    "Loop delay, maximum",
    "Memory peak",
    "Messages accepted a second",
    "Delivered a second",
    "Most waiting",
    "Deaths",
)


def load(facts: Facts) -> Section:
    """Return the section with the load of nodes over time, and the table of all nodes."""
    point = (
        f"; a point here is the mean of {duration(facts.width_s)}, for the loop the maximum"
        if facts.times
        else ""
    )
    how = (
        f"Each node reports its load every two seconds{point}. A late event loop (in ms) "
        "delays every message. A gap in a line is a time without data."
    )
    return Section("load", "Load over time", how, _body(facts))


def _body(facts: Facts) -> Html:
    if not facts.nodes:
        return nothing("No node has reported its load.")
    late = {name: milliseconds(values) for name, values in facts.series["lag_s"].items()}
    charts = [
        _chart(facts, "cpu", "CPU in use", facts.series["cpu_percent"], "% of all cores"),
        _chart(facts, "rate", "Messages accepted", facts.series["published_per_s"], "messages a second"),
        _chart(facts, "lag", "Delay of the event loop", late, "ms"),
    ]
    return Html("".join([*charts, _map(facts), _table(facts)]))


def _chart(facts: Facts, key: str, title: str, rows: Series, unit: str) -> Html:
    draw = lines if len(rows) <= FEW else bands
    if draw is bands:
        title = f"{title}, of {len(rows):,} nodes: the median, the middle 80 % and the highest"
    text = in_words(rows, f"{title}, {unit}", decimal)
    return drawn(key, title, draw(axis(facts), rows, unit), text)


def _map(facts: Facts) -> Html:
    rows = facts.series["cpu_percent"]
    if len(rows) <= FEW:
        return Html()
    names = sorted(rows, key=lambda name: -(mean(rows[name]) or 0))
    shown = {name: rows[name] for name in names[:ROWS]}
    title = "CPU in use, node by node, the busiest at the top"
    if names[ROWS:]:
        title += f", and {len(names) - ROWS:,} more"
    text = in_words(shown, f"{title}, % of all cores", decimal)
    return drawn("cpu-map", title, heat(axis(facts), shown, "% of all cores", 100), text)


def _table(facts: Facts) -> Html:
    return findable("nodes", "All nodes, the busiest first", COLUMNS, [_row(node) for node in facts.nodes])


def _row(node: Node) -> tuple[str, ...]:
    return (
        node.name,
        percent(node.cpu_percent),
        percent(node.cpu_peak_percent),
        decimal(node.load_share),
        duration(node.lag_s),
        duration(node.lag_worst_s),
        percent(node.ram_peak_percent),
        decimal(node.published_per_s),
        decimal(node.delivered_per_s),
        number(node.waiting),
        number(node.deaths),
    )
