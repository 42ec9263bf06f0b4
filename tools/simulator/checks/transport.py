"""Checks that each process knows which of its connections have ended."""

from __future__ import annotations

from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.history import History


def none_thrown_out(history: History, facts: Facts) -> list[Violation]:
    """TP1: no open connection is mistaken for a closed one."""
    return [
        Violation("TP1", f"{event.who} takes a connection that stands for ended", (event,))
        for event in history.of("thrown out")
    ]
