"""The sections about capacity, clocks and data quality."""

from math import inf

from mesh.history.report.charts.by_name import Dots, dots
from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, decimal, duration, moment, number, percent, second
from mesh.history.report.findings.seen import CLOCK_S, wrong_clocks
from mesh.history.report.markup import Html
from mesh.history.report.node_rows import Clock, Coverage, Forecast, Quarantined
from mesh.history.report.sampling import most
from mesh.history.report.sections.section import Section, drawn, nothing, worst

HOW_CAPACITY = (
    "A line through (messages a second, load) of each node forecasts the rate at which its "
    "load reaches 1, where it is full (◇, with the 95 % confidence interval); ● is the rate "
    "that it handled, on average."
)
HOW_CLOCKS = (
    "How far a clock is ahead of the common time of the mesh, which is the median of all "
    f"clocks. Differences above {CLOCK_S:g} s are corrected before anything is counted."
)
HOW_QUALITY = (
    "The data of this report, and what it lacks. A state that several nodes received counts "
    "once; an unreadable line is kept in quarantine and counts nowhere else."
)
DRAWN = 30
CAPACITY = ("Node", "Handled a second, mean", "Capacity", "At least", "At most", "In use", "Full at")
CLOCKS = ("Node", "Ahead", "Measured by")
REASONS = ("Reason", "Written by", "For example", "Lines", "Segments")
MISSING = (
    "Node",
    "Starts",
    "States",
    "States lost",
    "First",
    "Last",
    "Longest silence",
    "Silent from",
    "Future",
    "Past",
)
KINDS = {
    "state": "states of nodes",
    "event": "events",
    "link": "links",
    "queue": "queues",
    "balance": "balance",
    "topic": "topics",
    "service": "services",
    "quarantine": "in quarantine",
}


def capacity(facts: Facts) -> Section:
    """Return the section with the capacities of nodes, and the times when nodes will be full."""
    return Section("capacity", "Capacity of nodes", HOW_CAPACITY, _capacity(facts))


def _capacity(facts: Facts) -> Html:
    if not facts.forecasts:
        return nothing("No node has reported its load.")
    known = sorted((row for row in facts.forecasts if row.capacity_per_s), key=_urgency)
    unknown = [(row.node, row.reason or "-") for row in facts.forecasts if not row.capacity_per_s]
    parts = []
    if known:
        table = worst("Nodes, the fullest first", CAPACITY, [_forecast(row) for row in known])
        parts += [nothing(_full(known)), _ranges(known[:DRAWN], len(known)), table]
    if unknown:
        parts.append(worst("Nodes without a forecast", ("Node", "Because"), unknown, 2))
    return Html("".join(parts))


def _urgency(row: Forecast) -> tuple[float, float]:
    return row.full_at.timestamp() if row.full_at else inf, -row.in_use


def _full(rows: list[Forecast]) -> str:
    full = [row for row in rows if row.full_at]
    if not full:
        return "No node's load grows towards its capacity."
    return f"{counted(len(full), 'node')} will be full if the load keeps growing."


def _ranges(rows: list[Forecast], of: int) -> Html:
    title = "Messages a second: handled, on average, and capacity" + (
        f" ({len(rows)} of {of:,} nodes)" if len(rows) < of else ""
    )
    told = [
        (
            f"{row.node} handled {number(row.rate_per_s)} of {number(row.capacity_per_s)} "
            f"({number(row.capacity_low_per_s)} to {number(row.capacity_high_per_s)})"
        )
        for row in rows
    ]
    drawing = dots(
        [row.node for row in rows],
        {
            "handled, on average": Dots([row.rate_per_s for row in rows]),
            "capacity": Dots(
                [row.capacity_per_s for row in rows],
                [row.capacity_low_per_s for row in rows],
                [row.capacity_high_per_s for row in rows],
            ),
        },
        "messages a second",
    )
    return drawn("capacity", title, drawing, f"{title}: {'; '.join(told)}.")


def _forecast(row: Forecast) -> tuple[str, ...]:
    return (
        row.node,
        decimal(row.rate_per_s),
        number(row.capacity_per_s),
        number(row.capacity_low_per_s),
        number(row.capacity_high_per_s),
        percent(row.in_use, 1),
        moment(row.full_at),
    )


def clocks(facts: Facts) -> Section:
    return Section("clocks", "Clocks", HOW_CLOCKS, _clocks(facts))


def _clocks(facts: Facts) -> Html:
    if not facts.clocks:
        return nothing("No clocks were compared: that requires two linked nodes.")
    wrong = wrong_clocks(facts)
    right = [clock for clock in facts.clocks if clock not in wrong]
    within = duration(most([abs(clock.skew_s) for clock in right]))
    words = f"{counted(len(right), 'clock is', 'clocks are')} right, within {within}."
    said = nothing(words) if right else Html()
    if not wrong:
        return Html(nothing("No clock is wrong.") + said)
    wrong.sort(key=lambda clock: -abs(clock.skew_s))
    return Html(worst("Wrong clocks", CLOCKS, [_clock(clock) for clock in wrong]) + said)


def _clock(clock: Clock) -> tuple[str, ...]:
    sign = "+" if clock.skew_s > 0 else ""
    return clock.node, sign + duration(clock.skew_s), counted(clock.observers, "node")


def quality(facts: Facts) -> Section:
    """Return the section about missing and unreadable data."""
    told = [f"{number(count)} {KINDS.get(kind, kind)}" for kind, count in facts.kinds.items()]
    words = nothing(f"Made from {', '.join(told)}." if told else "There are no lines.")
    return Section(
        "quality", "Quality of the data", HOW_QUALITY, Html(words + _reasons(facts) + _missing(facts))
    )


def _reasons(facts: Facts) -> Html:
    if not facts.quarantined:
        return nothing("Every line was readable.")
    return worst("Unreadable lines", REASONS, [_reason(row) for row in facts.quarantined], 3)


def _reason(row: Quarantined) -> tuple[str, ...]:
    return row.reason, row.node or "no node", row.example or "", number(row.rows), number(row.segments)


def _missing(facts: Facts) -> Html:
    if not facts.coverage:
        return Html()
    lost = sum(row.states_lost for row in facts.coverage)
    words = nothing("No state is missing.") if not lost else Html()
    caption = "Completeness of the data of each node, the least complete first"
    rows = sorted(facts.coverage, key=lambda row: (-row.states_lost, -(row.gap_s or 0), row.node))
    return Html(words + worst(caption, MISSING, [_coverage(row) for row in rows]))


def _coverage(row: Coverage) -> tuple[str, ...]:
    return (
        row.node,
        number(row.boots),
        number(row.states),
        number(row.states_lost),
        second(row.first_at),
        second(row.last_at),
        duration(row.gap_s),
        second(row.gap_at),
        number(row.future),
        number(row.past),
    )
