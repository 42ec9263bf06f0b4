"""Is a message of a queue at one node at each moment, and does it move no more often than is said?"""

from __future__ import annotations

from collections import defaultdict
from math import inf

from tools.simulating.checks.facts import Facts, Id, Violation
from tools.simulating.checks.losing import Lost, Unsure, put_anew
from tools.simulating.checks.queues import DONE, puts_of
from tools.simulating.history import Event, History

MOST = 8  # moves that a node may begin by itself, of what somebody there wants,
APART = 30.0  # and so many s apart
SLACK = 0.2  # s by which the clocks of a node and of the judge may differ in that time


def conserved(history: History, facts: Facts) -> list[Violation]:
    """Q1: whatever was put and answered OK is at one node, or on its way, until it is done, or lost as it was
    in memory only; and it waits at one node only, but for what people, or memory, have forgotten."""
    puts, unsure, anew = puts_of(history), Unsure(history, facts), put_anew(history, facts)
    found = [
        Violation("Q1", f"it waits at {e.text} at once", (puts[e.id], e))
        for e in history.of("doubled")
        if e.id in puts and e.at < unsure.since(e.id) and e.id not in anew
    ]
    lost = Lost(history, facts)
    owed, done = dict[Id, Event](), set[Id]()
    for e in history.of("put said", "says", "buried", "purged", "there"):
        if e.kind == "put said" and e.text == "OK" and e.id not in done:
            owed[e.id] = e
        elif e.kind in ("buried", "purged") or (e.kind == "says" and e.text in DONE):
            owed.pop(e.id, None)
            done.add(e.id)
        elif e.kind == "there":
            for name in owed.keys() - set(map(_name, e.keys)):
                if not lost.is_excused(puts[name], e.at):
                    shown = (puts[name], owed[name])
                    found.append(Violation("Q1", f"at {e.at:.3f} it is nowhere", shown))
                del owed[name]
    return found


def _name(text: str) -> Id:
    stream, domain, number = text.split(" ")
    return stream, domain, int(number)


def moved_seldom(history: History, facts: Facts) -> list[Violation]:
    """Q8: of what somebody here wants a node moves each message once in APART seconds, and when it has moved
    MOST times no more; what nobody here wants and has moved so often moves once in APART seconds, too."""
    came: dict[tuple[str, int, Id], float] = {}
    moves: dict[Id, int] = defaultdict(int)
    found, unsure = [], Unsure(history, facts)
    for e in history.of("comes", "goes"):
        if e.at >= unsure.since(e.id):
            continue
        if e.kind == "comes":
            moves[e.id] += 1
            came[e.who, e.boot, e.id] = e.at
            continue
        is_wanted, here = "w" in e.flags, e.at - came.get((e.who, e.boot, e.id), -inf)
        if e.text == "later" and (is_wanted or moves[e.id] >= MOST) and here < APART - SLACK:
            found.append(Violation("Q8", f"it moves on after {here:.3f} s, by move {moves[e.id] + 1}", (e,)))
        elif e.text == "later" and is_wanted and moves[e.id] >= MOST:
            found.append(Violation("Q8", f"it has moved {moves[e.id]} times", (e,)))
    return found
