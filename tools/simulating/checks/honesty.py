"""One node says any number to the others: what is promised all the same, among the rest?"""

from __future__ import annotations

from tools.simulating.checks.facts import Facts, Violation
from tools.simulating.history import Event, History

WORLD = ("fault", "over", "start", "crash", "stop", "healed", "problem")

TAKEN = ("accept", "log", "tail", "known")  # of the streams that it makes up: nobody else has published there


def among_the_honest(history: History, facts: Facts) -> History:
    """Without what the liar and its clients say and are told, what was published there, and what it brought
    (but for letters that came as they were sent); without the domains of which it is master, and the nodes
    for which it is a way.

    What nodes believe of each other it can change until they themselves say otherwise.
    """
    streams = {event.stream for event in history.of("pub") if event.who in facts.deceived}
    known = {event.stream for event in history.of("pub")}
    sent = {(event.id, event.text) for event in history.of("pub") if event.to}
    kept = History()
    for event in history.events:
        is_made_up = event.kind in TAKEN and event.stream not in known and "e" not in event.flags
        is_true = event.kind == "deliver" and event.sub == 0 and (event.id, event.text) in sent
        if event.kind in WORLD or not (is_made_up or _is_the_liars(event, facts, streams, is_true)):
            kept.add(event)
    return kept


def _is_the_liars(event: Event, facts: Facts, streams: set[str], is_true: bool) -> bool:
    if (event.kind, event.text) == ("end", "alive"):
        return False  # it is honest by then
    if event.kind == "owed":
        return False  # what waits for the liar may wait elsewhere, too
    if event.kind == "stopped":
        return event.who == facts.liar
    if event.kind == "view" or event.who in {facts.liar, *facts.apart, *facts.deceived}:
        return True
    if event.domain in facts.twisted and event.kind != "sub":
        return True
    if any(f"/node/{node}/" in event.to + "/" for node in (facts.liar, *facts.apart)):
        return True
    if event.stream in streams:  # the last value of a topic is whose it is
        return facts.rules == "plain" or event.kind not in ("value", "read")
    was_there = any(hop.rpartition("/")[0] == facts.liar for hop in event.route)
    return was_there and event.kind == "deliver" and not is_true


def nobody_stops(history: History, facts: Facts) -> list[Violation]:
    """P1: no word of a peer ends a node, or parts two others."""
    stopped = history.of("stopped") if facts.liar else ()
    found = [Violation("P1", f"{event.who} was stopped: {event.text}", (event,)) for event in stopped]
    parted = history.of("hung up") if facts.liar else ()
    return found + [Violation("P1", f"{e.who} hung up on {e.to}: {e.text}", (e,)) for e in parted]
