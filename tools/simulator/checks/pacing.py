"""Checks that publishers wait for a reader that makes progress."""

from __future__ import annotations

from math import inf

from mesh.routing.feed import PROGRESS
from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.history import History


def who_goes_on_misses_nothing(history: History, facts: Facts) -> list[Violation]:
    """C1.5: without faults a reader that makes progress misses nothing: publishers wait for it.

    Publishers do not wait for a broken connection or an unresponsive node, nor for a reader whose
    subscription is confirmed slowly. Each source may have a window and one more envelope in flight, so a
    smaller backlog may be full.
    """
    faults = (event.at for event in history.of("fault", "crash", "stop"))
    until = min(faults, default=inf) if facts.has_room else -inf
    begun, reading, found = dict[tuple[str, int], float](), set[tuple[str, int]](), list[Violation]()
    for event in history.of("sub", "confirmed", "gap"):
        reader = event.who, event.sub
        if event.kind == "sub" and "g" in event.flags:
            begun[reader] = event.at
        elif event.kind == "confirmed" and event.at - begun.get(reader, -inf) < PROGRESS:
            reading.add(reader)
        elif event.kind == "gap" and event.at < until and reader in reading:
            found.append(Violation("C1.5", f"{event.who} goes on reading, and misses {event.gap}", (event,)))
    return found
