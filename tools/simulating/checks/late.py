"""When must a subscriber know of what it was not given, if the node that should bring it was away?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import inf

from tools.simulating.checks.facts import restarts, spans, was_between
from tools.simulating.history import Event, History

BACK = 10.0  # s for which a node asks a way still, or again, that another one took the place of


def backs_of(history: History) -> dict[str, list[float]]:
    """When each node was there again: it began, could be reached, or went on."""
    found: dict[str, list[float]] = defaultdict(list)
    for event in history.of("start"):
        found[event.who].append(event.at)
    for _, end, fault in spans(history):
        if fault.text in ("cut", "one way", "pause"):
            for name in (fault.who, fault.to):
                found[name].append(end)
    return {name: sorted(times) for name, times in found.items()}


def ways_of(given: Event) -> list[str]:
    """Names of the nodes by which it came from its master, the subscriber's own the last."""
    places = [place.rpartition("/") for place in given.route]
    masters = [i for i, (_, _, stratum) in enumerate(places) if stratum == "0"]
    return [name for name, _, _ in places[masters[-1] + 1 :]] if masters else []


class LateByWay:
    """Transient messages that a master keeps for a way that is down: they are told as missed when it is back.

    That is so for BACK seconds after the way ended, until others are asked instead. If another process ends
    before the way is back, the number may be lost. What a way has that is just back is told soon, too.
    """

    def __init__(self, history: History) -> None:
        self._backs = backs_of(history)
        self._ends = [(event.at, event.who) for event in restarts(history)]

    def due(self, event: Event, pub: Event, news: list[Event]) -> float:
        """Return when `pub` must be told as missed, as `event` came before it; inf: perhaps never."""
        if any("p" in each.flags for each in news):
            return event.at
        came_by, due = ways_of(event), event.at
        backs = [when for who, when in self._backs.items() if who not in came_by]
        if any(was_between(when, event.at - BACK, event.at + BACK) for when in backs):
            due += BACK
        for ended, way in self._ends:
            back = min((at for at in self._backs.get(way, ()) if at > ended), default=inf)
            if way not in came_by and ended <= pub.at <= min(back, ended + BACK):
                is_forgotten = any(pub.at < at <= back and who != way for at, who in self._ends)
                due = max(due, inf if is_forgotten else back + BACK)
        return due


class Missed:
    """The messages that one subscription was not given, though later ones were. `due`: it must know of these.

    `silent(at)`: those of gaps that no process knows any more."""

    def __init__(self, late: LateByWay, silent: Callable[[float], int]) -> None:
        self._late, self._silent = late, silent
        self.told = 0
        self.due: list[Event] = []
        self.later: list[Event] = []  # were given
        self._waiting: list[tuple[float, Event]] = []  # until when they must be told

    def skip(self, event: Event, news: list[Event]) -> None:
        """Note what was not given before this one."""
        if news:
            self.later.append(event)
            self._waiting += [(due, pub) for pub in news if (due := self._late.due(event, pub, news)) < inf]

    def has_due(self, at: float) -> bool:
        """Return whether some must be known since the last look."""
        return any(due <= at for due, _ in self._waiting)

    def are_untold(self, at: float) -> bool:
        """Return whether fewer were told by then than must be."""
        self.due += [pub for due, pub in self._waiting if due <= at]
        self._waiting = [(due, pub) for due, pub in self._waiting if due > at]
        return len(self.due) > self.told + self._silent(at)
