"""Checks that publishers wait for a reader that makes progress."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from mesh.routing.feed_state import PROGRESS
from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.history import History


def who_goes_on_misses_nothing(history: History, facts: Facts) -> list[Violation]:
    """C1.5: without faults a reader that makes progress misses nothing: publishers wait for it.

    Publishers do not wait for a broken connection or an unresponsive node, nor for a reader whose
    subscription is confirmed slowly.
    """
    until = _holds_until(history, facts)
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


def _holds_until(history: History, facts: Facts) -> float:
    """Return the time of the first fault, move, or envelope for which a backlog may have no room.

    Each source may have a window and one more envelope in flight. A publisher that waited sends all its
    waiting messages in one envelope, which may be larger than the window.
    """
    if facts.room < 0:
        return -inf
    ends = [event.at for event in history.of("fault", "crash", "stop", "visit")]
    largest = dict[str, int]()
    for event in history.of("envelope"):
        largest[event.who] = event.stamp
        if _last_envelopes(largest, facts) > facts.room:
            ends.append(event.at)
    return min(ends, default=inf)


def _last_envelopes(largest: Mapping[str, int], facts: Facts) -> int:
    """Return the most bytes of one envelope of each source, from the largest envelope of each publisher.

    With plain rules, a node sends only the envelopes of its own publishers; with others, those of all.
    """
    if facts.rules == "plain":
        return sum(largest.values())
    return len(facts.nodes) * max(largest.values())
