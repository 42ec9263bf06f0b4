"""Findings: sentences about noteworthy facts, the worst first."""

from collections.abc import Callable, Iterator

from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted
from mesh.history.report.findings import messages, nodes, seen
from mesh.history.report.findings.finding import BAD, GOOD, RANKS, WARN, Finding
from mesh.history.report.machines import among

RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    nodes.gone, nodes.slow, messages.queues, messages.parts, nodes.restless, messages.uneven,
    nodes.near_capacity, nodes.busy, seen.links, seen.clocks, nodes.false_alarms, messages.failing,
    seen.missing, messages.largest_topic,
)  # fmt: skip


def findings(facts: Facts) -> list[Finding]:
    """Return the findings, the worst first, or a single good one if there are nodes but no other findings."""
    found = [finding for rule in RULES for finding in rule(facts)]
    if not found and facts.nodes:
        text = "No node is slow or flapping, no clock is wrong, no queue grows, and no line is missing."
        found = [Finding(GOOD, text, "load")]
    return sorted(found, key=lambda finding: list(RANKS).index(finding.rank))


def verdict(facts: Facts) -> str:
    """Return a summary in one sentence."""
    if not facts.nodes:
        return "There is no data for this time."
    ranks = [finding.rank for finding in findings(facts)]
    where = f"among {among(facts)}"
    bad, warn = ranks.count(BAD), ranks.count(WARN)
    odd = f"{counted(warn, 'finding')} to check"
    if bad:
        there = f"There {'is' if bad == 1 else 'are'} {counted(bad, 'problem')}"
        return f"{there}, and {odd}, {where}." if warn else f"{there} {where}."
    return f"The mesh works, with {odd} {where}." if warn else f"All is well {where}."
