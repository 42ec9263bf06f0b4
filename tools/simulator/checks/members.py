"""Checks membership: nodes know which others are alive."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from math import inf

from tools.simulator.checks.facts import Facts, Violation, spans
from tools.simulator.history import Event, History

NOTICED = 25.0  # s until a death is known everywhere
QUIET = 25.0  # s without faults before a false death
ALIVE = ("alive", "trusted", "suspect")


class Lives:
    """The time of each node's processes, and the faults that affected it."""

    def __init__(self, history: History, facts: Facts) -> None:
        self.starts: dict[str, list[Event]] = defaultdict(list)
        self.ends: dict[str, list[Event]] = defaultdict(list)
        for event in history.of("start", "crash", "stop"):
            (self.starts if event.kind == "start" else self.ends)[event.who].append(event)
        self._ills: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
        for begin, end, fault in spans(history):
            for who in {fault.who, fault.to} - {""}:
                self._ills[who].append((begin, end, fault.text))
        self.last = history.events[-1].at if history.events else 0.0
        self.names = {uuid: name for name, uuid in facts.uuids.items()}

    def is_ill(self, who: str, begin: float, end: float, but: Iterable[str] = ()) -> bool:
        """Return whether a fault other than `but` affected the node from `begin` to `end`."""
        return any(a <= end and b >= begin and what not in but for a, b, what in self._ills[who])

    def news_since(self, who: str, at: float) -> float:
        """Return the time of the oldest input that a node may report at the time `at`.

        A node that continues after a pause first reads the input that arrived during the pause.
        """
        return min(
            (a for a, b, what in self._ills[who] if what == "pause" and a <= at <= b + 1.0), default=at
        )

    def was_up(self, who: str, begin: float, end: float) -> bool:
        """Return whether the node ran as one process from `begin` to `end`."""
        started = [event.at for event in self.starts[who]]
        place = bisect_left(started, begin)
        if place == 0 or (place < len(started) and started[place] <= end):
            return False
        return not any(started[place - 1] < event.at <= end for event in self.ends[who])

    def next_start(self, who: str, at: float) -> float:
        return min((event.at for event in self.starts[who] if event.at > at), default=inf)


def _views(history: History) -> dict[tuple[str, int, str], list[Event]]:
    """Return the views that each process had of each uuid, by (observer, boot, uuid)."""
    views: dict[tuple[str, int, str], list[Event]] = defaultdict(list)
    for event in history.of("view"):
        views[event.who, event.boot, event.stream].append(event)
    return views


def completeness(history: History, facts: Facts) -> list[Violation]:
    """M1: NOTICED seconds after a node crashes for good, no unaffected node calls it alive.

    A node is unaffected if it ran throughout, and no fault concerned it.
    """
    lives, views, found = Lives(history, facts), _views(history), []
    for dead in history.of("crash"):
        limit = dead.at + NOTICED
        uuid = facts.uuids.get(dead.who)
        if uuid is None or lives.next_start(dead.who, dead.at) < limit or limit > lives.last:
            continue
        for observer in facts.nodes:
            well = not lives.is_ill(observer, dead.at - QUIET, limit) and not lives.is_ill(
                dead.who, dead.at - QUIET, limit, but=("kill", "power off")
            )
            if observer == dead.who or not well or not lives.was_up(observer, dead.at - QUIET, limit):
                continue
            boot = max(e.boot for e in lives.starts[observer] if e.at <= dead.at)
            said = [e for e in views[observer, boot, uuid] if e.at <= limit]
            if said and said[-1].text in ALIVE:
                what = f"{observer} calls {dead.who} {said[-1].text} {NOTICED:g} s after its end"
                found.append(Violation("M1", what, (dead, said[-1])))
    return found


def accuracy(history: History, facts: Facts) -> list[Violation]:
    """M2: a node that is up, reachable and not paused is never called dead."""
    lives, found = Lives(history, facts), []
    for event in history.of("view"):
        name = lives.names.get(event.stream)
        if event.text != "dead" or name is None:
            continue
        begin = lives.news_since(event.who, event.at) - QUIET
        excused = lives.is_ill(name, begin, event.at, but=OWN) or lives.is_ill(
            event.who, begin, event.at, but=(*OWN, "pause")
        )
        if not excused and lives.was_up(name, begin, event.at):
            found.append(Violation("M2", f"{event.who} calls {name} dead, which lives", (event,)))
    return found


# Faults that must not make a living node look dead.
OWN = (
    "break",
    "break client",
    "full",
    "slow disk",
    "clock",
    "crash before the commit",
    "crash in the commit",
    "crash after the commit",
    "crash after the answer",
    "io error",
    "rot",
)


def incarnations(history: History, facts: Facts) -> list[Violation]:
    """M3: the view that a process has of another one never returns to an earlier boot or incarnation.

    A goodbye ends its boot at any incarnation, as the node that forwards it may know an earlier one.
    """
    found = []
    for said in _views(history).values():
        for before, after in pairwise(said):
            ends = after.text == "left" and after.first == before.first
            is_older = (after.first, after.last) < (before.first, before.last)
            if is_older and not ends and "conflict" not in (before.text, after.text):
                found.append(Violation("M3", "an older word overrode a newer one", (before, after)))
    return found


def agreement(history: History, facts: Facts) -> list[Violation]:
    """M4: after all faults are healed each node is up and sees all others."""
    found = []
    for event in history.of("end"):
        missing = set(facts.nodes) - set(event.keys) - {event.who}
        if event.text == "alive" and event.who in facts.nodes and missing:
            found.append(Violation("M4", f"{event.who} does not see {sorted(missing)}", (event,)))
    up = {event.who for event in history.of("end")}
    away = [name for name in facts.nodes if name not in up] if up else []
    return found + [Violation("M4", f"{name} is not up") for name in away]


def belonging(history: History, facts: Facts) -> list[Violation]:
    """M5: no process without the secret is a member."""
    return [
        Violation("M5", f"{event.who} took in a stranger", (event,))
        for event in history.of("view")
        if event.to == "stranger" and event.text in ALIVE and "foreign" not in event.who
    ]
