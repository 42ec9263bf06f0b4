"""The section about services."""

from mesh.history.report.charts.over_time import lines
from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, decimal, duration, number, percent
from mesh.history.report.markup import Html
from mesh.history.report.message_rows import Service
from mesh.history.report.sampling import most
from mesh.history.report.sections.section import Section, axis, drawn, in_words, nothing, worst

HOW = (
    "Requests are counted at the nodes of the requesters, by address and by the node that "
    "served them, and include the network time. A request failed if its server replied with "
    "an error or not at all, was lost if the server disconnected, refused if no server "
    "accepted it, and expired at its timeout. Half of the replies took no longer than the "
    "median; 99 of 100 in the worst ten seconds took no longer than the last figure."
)
ADDRESSES = (
    "Address",
    "Nodes",
    "Requests",
    "A second",
    "Failures",
    "Of all",
    "Sent without reply",
    "Mean reply",
)
NODES = (
    "Address",
    "Served by",
    "Requests",
    "A second",
    "Replies",
    "Failed",
    "Lost",
    "Refused",
    "Expired",
    "Median",
    "99th percentile",
    "Requested from",
)
NOBODY = "nobody"


def services(facts: Facts) -> Section:
    """Return the section with requests, failures and reply times, over time and in total."""
    return Section("services", "Services", HOW, _services(facts))


def _services(facts: Facts) -> Html:
    if not facts.services:
        return nothing("No message was sent to an address.")
    charts = [
        _chart(facts, "requests", "Requests", "requests_per_s", "requests a second"),
        _chart(facts, "failures", "Failures", "failures_per_s", "requests a second"),
        _chart(facts, "p50", "Median reply time", "p50_ms", "ms"),
        _chart(facts, "p99", "99th percentile of the reply time, in the worst ten seconds", "p99_ms", "ms"),
    ]
    by_node = worst("By address and node", NODES, [_node(row) for row in facts.services], 2, shown=20)
    return Html("".join([*charts, _addresses(facts), by_node]))


def _chart(facts: Facts, key: str, title: str, measure: str, unit: str) -> Html:
    rows = facts.fares[measure]
    if not any(most(values) for values in rows.values()):
        return Html()
    return drawn(key, title, lines(axis(facts), rows, unit), in_words(rows, f"{title}, {unit}", decimal))


def _addresses(facts: Facts) -> Html:
    groups: dict[str, list[Service]] = {}
    for row in facts.services:
        groups.setdefault(row.address, []).append(row)
    rows = sorted(groups.values(), key=lambda rows: -sum(row.requests for row in rows))
    title = f"{counted(len(rows), 'address', 'addresses')}, the busiest first"
    return worst(title, ADDRESSES, [_address(group) for group in rows], 1, shown=20)


def _address(rows: list[Service]) -> tuple[str, ...]:
    requests, failures = sum(row.requests for row in rows), sum(row.failures for row in rows)
    replies = sum(row.replies for row in rows)
    took = sum(row.replies * (row.mean_ms or 0) / 1000 for row in rows)
    return (
        rows[0].address,
        number(sum(bool(row.node) for row in rows)),
        number(requests),
        decimal(sum(row.requests_per_s or 0 for row in rows)),
        number(failures),
        percent(failures / requests if requests else None, 1),
        number(sum(row.sent for row in rows)),
        duration(took / replies if replies else None),
    )


def _node(row: Service) -> tuple[str, ...]:
    return (
        row.address,
        row.node or NOBODY,
        number(row.requests),
        decimal(row.requests_per_s),
        number(row.replies),
        number(row.failed),
        number(row.lost),
        number(row.refused),
        number(row.expired),
        _ms(row.p50_ms),
        _ms(row.p99_ms),
        counted(row.callers, "node"),
    )


def _ms(value: float | None) -> str:
    return duration(None if value is None else value / 1000)
