"""Checks queue groups: the messages of one producer in a group are delivered in order on all nodes."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from tools.simulator.checks.addresses import calm_of
from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.checks.queues import puts_of
from tools.simulator.history import Event, History

# Events that suspend the promise: consumers change, or messages move for another reason.
CHANGES = ("takes", "away", "closed", "came back", "no room", "by hand")

CALM = 2.0  # s without faults before
Lane = tuple[str, str, str, str]  # stream, queue, priority and group, flags


def groups_in_order(history: History, facts: Facts) -> list[Violation]:
    """Q11: a group's message is delivered after the producer's earlier ones that wait at the same node.

    The promise holds without faults, without changes of consumers or moves by hand, and where consumers have
    no selectors.
    """
    changes = _changes(history)
    found = list[Violation]()
    for before, after, given in _overtaken(history, facts):
        at = changes[after.domain]
        place = bisect_left(at, after.at)
        is_quiet = place == len(at) or at[place] > given.at
        if is_quiet and calm_of(history).was(before.at, given.at, CALM):
            found.append(
                Violation("Q11", "the later one of its group was given first", (before, after, given))
            )
    return found


def _changes(history: History) -> dict[str, list[float]]:
    """Return the times of all changes by queue.

    Events of sessions count for all queues.
    """
    found: dict[str, list[float]] = defaultdict(list)
    queues = {e.domain for e in history.of("put")}
    for e in history.of(*CHANGES):
        for queue in queues if e.kind in ("away", "closed", "no room", "by hand") else (e.domain,):
            found[queue].append(e.at)
    return found


def _overtaken(history: History, facts: Facts) -> Iterator[tuple[Event, Event, Event]]:
    """Yield (earlier put, later put, delivery of the later one) where the later one overtook.

    The earlier message still waited at its node when the later one was put.
    """
    choosy = {e.domain for e in history.of("takes") if e.text}
    gone: dict[object, float] = {}
    for e in history.of("goes"):
        gone.setdefault(e.id, e.at)
    for lane in _lanes(history, choosy | facts.staying).values():
        for place, (after, given) in enumerate(lane):
            for before, its in lane[:place]:
                left = min(gone.get(before.id, its.at), its.at)
                if before.first < after.first and its.at > given.at and left > after.at:
                    yield before, after, given


def _lanes(history: History, without: set[str] | frozenset[str]) -> dict[Lane, list[tuple[Event, Event]]]:
    """Return the puts in their order by stream, queue, group and flags, each with its first delivery."""
    first: dict[object, Event] = {}
    for e in history.of("gives"):
        first.setdefault(e.id, e)
    found: dict[Lane, list[tuple[Event, Event]]] = defaultdict(list)
    for put in sorted(puts_of(history).values(), key=lambda e: e.first):
        priority, delay, group = (put.keys[0] or "  ").split(" ", 2)
        given = first.get(put.id)
        if group and delay == "0" and given is not None and not given.gap and put.domain not in without:
            found[put.stream, put.domain, f"{priority} {group}", put.flags].append((put, given))
    return found
