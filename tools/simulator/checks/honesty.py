"""The promises that hold among the honest nodes while one node sends arbitrary numbers."""

from __future__ import annotations

from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.history import Event, History

WORLD = ("fault", "over", "start", "crash", "stop", "healed", "problem")

TAKEN = ("accept", "log", "tail", "known")  # of invented streams, without other publishers


def among_the_honest(history: History, facts: Facts) -> History:
    """Return the history without the events that the lying node may have influenced.

    The liar may influence all events of itself and its clients, messages that passed it (except unchanged
    direct messages), domains of which it is master, and nodes that are reached only through it. It can also
    change views until the nodes refute it.
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
        return False  # messages for the liar may also wait elsewhere
    if event.kind == "stopped":
        return event.who == facts.liar
    if event.kind == "view" or event.who in {facts.liar, *facts.apart, *facts.deceived}:
        return True
    if event.domain in facts.twisted and event.kind != "sub":
        return True
    if any(f"/node/{node}/" in event.to + "/" for node in (facts.liar, *facts.apart)):
        return True
    if event.stream in streams:  # a retained value belongs to its publisher
        return facts.rules == "plain" or event.kind not in ("value", "read")
    was_there = any(hop.rpartition("/")[0] == facts.liar for hop in event.route)
    return was_there and event.kind == "deliver" and not is_true


def nobody_stops(history: History, facts: Facts) -> list[Violation]:
    """P1: no command of a peer stops a node, or disconnects two others."""
    stopped = history.of("stopped") if facts.liar else ()
    found = [Violation("P1", f"{event.who} was stopped: {event.text}", (event,)) for event in stopped]
    parted = history.of("hung up") if facts.liar else ()
    return found + [Violation("P1", f"{e.who} hung up on {e.to}: {e.text}", (e,)) for e in parted]
