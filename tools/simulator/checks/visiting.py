"""Checks sessions that move: in the end, one node has each session, and nothing else is left of a move."""

from __future__ import annotations

from collections import defaultdict

from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.history import MOVING, PINNED, Event, History

SAMPLED = 1.5  # s between two samples, at most
SILENT = 15.0  # s until the end of a connection is detected


def one_connection(history: History, facts: Facts) -> list[Violation]:
    """SE4: a node that knows that a session is at another node has no connection of the session for long.

    A client that returns connects before it shows its certificate. It may also leave before it does.
    """
    found, begun = [], dict[tuple[str, str], tuple[Event, Event]]()
    for event in history.of("serves"):
        first, last = begun.get((event.who, event.stream), (event, event))
        first = event if event.at - last.at > SAMPLED else first
        begun[event.who, event.stream] = first, event
        if event.at - first.at > SILENT:
            found.append(Violation("SE4", f"{event.who} still serves a session that left", (first, event)))
    return found


def not_given_up(history: History, facts: Facts) -> list[Violation]:
    """SE5: a node that knows that a session is at another node keeps what it holds until its release."""
    return [
        Violation("SE5", "it gives up a session that no node has released", (event,))
        for event in history.of("gives up")
    ]


def nothing_held(history: History, facts: Facts) -> list[Violation]:
    """SE6: in the end one node has a session that moved, and no node or client has an unfinished move.

    A liar may let nodes pin their logs, for an hour.
    """
    ended = {event.who for event in history.of("down")}
    found = [
        Violation("SE6", f"{event.who}: {event.text} is {event.stamp}", (event,))
        for event in history.of("end")
        if event.text in MOVING and event.stamp and not (facts.liar and event.text in PINNED)
    ]
    found += [Violation("SE6", "its former nodes are not released", (e,)) for e in history.of("open visit")]
    at: dict[str, list[Event]] = defaultdict(list)
    for event in history.of("has session"):
        at[event.stream].append(event)
    came = {event.who: event for event in history.of("came to") if event.who not in ended}
    for last in came.values():
        nodes = [event.who for event in at[last.stream]]
        if nodes != [last.to]:
            found.append(Violation("SE6", f"the session is at {nodes}", (last, *at[last.stream])))
    return found
