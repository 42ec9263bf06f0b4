"""Does what a producer puts of a group come in its order, wherever it goes?"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from tools.simulating.checks.addresses import calm_of
from tools.simulating.checks.facts import Facts, Violation
from tools.simulating.checks.queues import puts_of
from tools.simulating.history import Event, History

# What ends the promise while a message waits: who takes is another one, or somebody else decides what moves.
CHANGES = ("takes", "away", "closed", "came back", "no room", "by hand")

CALM = 2.0  # s after the last fault
Lane = tuple[str, str, str, str]  # stream, queue, priority with group, and whether it is persistent


def groups_in_order(history: History, facts: Facts) -> list[Violation]:
    """Q11: what is put of a group is not given before what a producer has put of it before, and what waits
    where it was put, at whatever node: as long as all goes well, and all take whatever comes."""
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
    """The moments of all of them, by queue; of who takes for all, as who is away says nothing of queues."""
    found: dict[str, list[float]] = defaultdict(list)
    queues = {e.domain for e in history.of("put")}
    for e in history.of(*CHANGES):
        for queue in queues if e.kind in ("away", "closed", "no room", "by hand") else (e.domain,):
            found[queue].append(e.at)
    return found


def _overtaken(history: History, facts: Facts) -> Iterator[tuple[Event, Event, Event]]:
    """What was put before and waited where it was put when the next one was; that; and its being given."""
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
    """What was put, in its order, with its being given for the first time."""
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
