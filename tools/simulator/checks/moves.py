"""Checks moves: a queued message is at one node at a time, and seldom moves."""

from __future__ import annotations

from collections import defaultdict
from math import inf

from tools.simulator.checks.facts import Facts, Id, Violation
from tools.simulator.checks.losing import Lost, Unsure, put_anew
from tools.simulator.checks.queues import DONE, puts_of
from tools.simulator.checks.transactions import acked_by_transactions, settled_by
from tools.simulator.history import Event, History

MOST = 8  # moves for local consumers that a node begins,
APART = 30.0  # and s between two of them
SLACK = 0.2  # s of clock difference between node and check


def conserved(history: History, facts: Facts) -> list[Violation]:
    """Q1: a message that was put and answered OK is at one node, or in transit, until it is settled.

    It waits at one node only. Memory-only messages may be lost. Forgotten nodes and memory-only queues may
    duplicate messages.
    """
    puts, unsure, anew = puts_of(history), Unsure(history, facts), put_anew(history, facts)
    found = [
        Violation("Q1", f"it waits at {e.text} at once", (puts[e.id], e))
        for e in history.of("doubled")
        if e.id in puts and e.at < unsure.since(e.id) and e.id not in anew
    ]
    lost = Lost(history, facts)
    owed, done = dict[Id, Event](), set[Id]()
    acked = acked_by_transactions(history)
    for e in history.of("put said", "says", "commit", "buried", "purged", "there"):
        if e.kind == "put said" and e.text == "OK" and e.id not in done:
            owed[e.id] = e
        elif e.kind in ("buried", "purged") or (e.kind == "says" and e.text in DONE):
            owed.pop(e.id, None)
            done.add(e.id)
        elif e.kind == "commit":
            for name in acked.intersection(settled_by(e)):
                owed.pop(name, None)
                done.add(name)
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
    """Q8: a message that local consumers want moves once in APART seconds, and at most MOST times.

    A message that no local consumer wants and that moved MOST times moves once in APART seconds, too.
    """
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
