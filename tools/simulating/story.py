"""What became of a seed? Its script, played and judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from tools.simulating.checks import checked
from tools.simulating.checks.facts import Facts, Violation
from tools.simulating.history import History
from tools.simulating.script import Script
from tools.simulating.stage import Stage

SLACK = 6_000  # bytes: an envelope may overdraw a credit, and one a backlog


@dataclass(frozen=True)
class Outcome:
    """Of one story."""

    script: Script
    history: History
    violations: list[Violation]
    seconds: float = 0.0  # of simulated time
    faults: dict[str, int] = field(default_factory=dict)


def told(script: Script) -> Outcome:
    """Play it, and judge it."""
    stage = Stage(script)
    history = stage.played()
    return Outcome(script, history, checked(history, facts_of(script)), stage.net.now)


def facts_of(script: Script) -> Facts:
    domains = {domain: script.cast.masters(domain) for domain in script.cast.domains}
    window = script.settings.get("window_bytes", 4 << 20)
    backlog = script.settings.get("backlog_bytes", 64 << 20)
    cap = window + 2 * backlog + SLACK
    kinds = {step.kind for step in script.steps}
    ttl = script.settings.get("tailback_ttl", inf)
    waits = ttl == inf and "set clock" not in kinds
    void_after = ttl if kinds & {"set clock", "move"} else inf
    moved = "move" in kinds
    may_wait = moved or {"fill", "unlisten"} <= kinds
    tail = script.settings.get("tailback_count", inf)
    return Facts(script.nodes, domains, script.cast.rules, cap, tail, waits, moved, void_after, may_wait)
