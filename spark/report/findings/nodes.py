"""Findings about nodes that are gone, restless, slow, busy or full."""

from collections.abc import Callable, Iterator, Sequence

from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, duration, listed, number, percent, spoken
from mesh.history.report.findings.finding import BAD, WARN, Finding, so
from mesh.history.report.machines import labels
from mesh.history.report.node_rows import Node
from mesh.history.report.sampling import median

BUSY_PERCENT, FULL_RAM_PERCENT = 85, 92
SLOW_S, SLOWER = 0.1, 3  # median delay of the loop, and factor over the typical one
RESTLESS = 3  # deaths or restarts of one node
NEAR_CAPACITY = 0.8


def gone(facts: Facts) -> Iterator[Finding]:
    gone = [life for life in facts.last_lives.values() if life.ended in ("dead", "silent")]
    if len(gone) == 1:
        when = spoken(gone[0].ended_at or gone[0].last_at)
        yield Finding(BAD, f"{gone[0].node} died at {when} and has not returned.", "membership")
    elif gone:
        names = labels(facts, [life.node for life in gone])
        of_one = " of one machine" if len(names) == 1 else ""
        text = f"{counted(len(gone), 'node')}{of_one} died and have not returned: {listed(names)}."
        yield Finding(BAD, text, "membership")


def restless(facts: Facts) -> Iterator[Finding]:
    restless = [row for row in facts.flapping if max(row.deaths, row.restarts) >= RESTLESS]
    restless.sort(key=lambda row: -(row.deaths + row.restarts))
    for row in restless[:1]:
        others = so([other.node for other in restless[1:]])
        text = (
            f"{row.node} flaps: {counted(row.deaths, 'death')} and {counted(row.restarts, 'restart')} "
            f"in {duration(3600 * row.seen_hours)}.{others}"
        )
        yield Finding(BAD, text, "membership")


def false_alarms(facts: Facts) -> Iterator[Finding]:
    alarms = [row.node for row in facts.detections if row.lived_on and row.how == "dead"]
    if alarms:
        names = listed(sorted(set(alarms)))
        times = "Once" if len(alarms) == 1 else f"{len(alarms):,} times"
        why = "a network partition, or a machine that paused"
        text = f"{times} a live node was declared dead ({names}): {why}."
        yield Finding(WARN, text, "detection")


def slow(facts: Facts) -> Iterator[Finding]:
    typical = median([node.lag_s for node in facts.nodes]) or 0.0
    slow = [node for node in facts.nodes if (node.lag_s or 0) >= max(SLOW_S, SLOWER * typical)]
    slow.sort(key=lambda node: -(node.lag_s or 0))
    names = labels(facts, [node.name for node in slow])
    for node in slow[:1]:
        others = f" {listed(names[1:])} too." if names[1:] else ""
        text = (
            f"{names[0]} is slow: its event loop is {duration(node.lag_s)} late, that of the "
            f"typical node {duration(typical)}.{others}"
        )
        yield Finding(BAD, text, "load")


def busy(facts: Facts) -> Iterator[Finding]:
    """Yield findings about CPU and memory, which belong to whole machines."""
    yield from _of_machines(
        facts,
        [node for node in facts.nodes if (node.cpu_percent or 0) >= BUSY_PERCENT],
        lambda node, who: f"{who} has little CPU left: {percent(node.cpu_percent)} in use on average",
        lambda who: f"{who} have little CPU left: over {BUSY_PERCENT} % in use on average",
    )
    yield from _of_machines(
        facts,
        [node for node in facts.nodes if (node.ram_peak_percent or 0) >= FULL_RAM_PERCENT],
        lambda node, who: f"{who} was short of memory: {percent(node.ram_peak_percent)} of it in use",
        lambda who: f"{who} were short of memory: over {FULL_RAM_PERCENT} % of it in use",
    )


def _of_machines(
    facts: Facts, nodes: Sequence[Node], one: Callable[[Node, str], str], many: Callable[[str], str]
) -> Iterator[Finding]:
    if nodes:
        names = labels(facts, [node.name for node in nodes])
        text = one(nodes[0], names[0]) if len(names) == 1 else many(listed(names))
        yield Finding(WARN, f"{text}.", "load")


def near_capacity(facts: Facts) -> Iterator[Finding]:
    full = sorted((row for row in facts.forecasts if row.full_at), key=lambda row: str(row.full_at))
    for row in full[:1]:
        last = spoken(row.full_last_at) if row.full_last_at else "a time too far ahead to forecast"
        others = f" {listed([other.node for other in full[1:]])} will follow." if full[1:] else ""
        text = (
            f"If its load keeps growing, {row.node} is full on {spoken(row.full_at)} (between "
            f"{spoken(row.full_first_at)} and {last}).{others}"
        )
        yield Finding(WARN, text, "capacity")
    near = [row for row in facts.forecasts if row.in_use >= NEAR_CAPACITY and not row.full_at]
    near.sort(key=lambda row: -row.in_use)
    for row in near[:1]:
        others = f" {listed([other.node for other in near[1:]])} too." if near[1:] else ""
        text = (
            f"{row.node} handled {number(row.rate_per_s)} of its capacity of "
            f"{number(row.capacity_per_s)} messages a second, on average.{others}"
        )
        yield Finding(WARN, text, "capacity")
