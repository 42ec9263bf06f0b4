"""When a subscriber must know of missed messages if the node that should deliver them was unreachable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import inf
from typing import NamedTuple

from tools.simulator.checks.facts import restarts, spans, was_between
from tools.simulator.history import Event, History

BACK = 10.0  # s for which a replaced route is queried
TAKEOVER = 20.0  # s until a slave has another parent: of a dead one is known after 10, and 10 between changes


def backs_of(history: History) -> dict[str, list[float]]:
    """Return the times at which each node was reachable again: after a start, a cut or a pause."""
    found: dict[str, list[float]] = defaultdict(list)
    for event in history.of("start"):
        found[event.who].append(event.at)
    for _, end, fault in spans(history):
        if fault.text in ("cut", "one way", "pause"):
            for name in (fault.who, fault.to):
                found[name].append(end)
    return {name: sorted(times) for name, times in found.items()}


def ways_of(given: Event) -> list[str]:
    """Return the nodes from the master to the subscriber that the message passed, the subscriber's last."""
    names, master = _places(given)
    return names[master + 1 :] if master >= 0 else []


def master_of(given: Event) -> str:
    """Return the node whose log had the message."""
    names, master = _places(given)
    return names[master] if master >= 0 else ""


def _places(given: Event) -> tuple[list[str], int]:
    """Return the nodes on the route of a message, and the index of its master or -1."""
    places = [place.rpartition("/") for place in given.route]
    masters = [i for i, (_, _, stratum) in enumerate(places) if stratum == "0"]
    return [name for name, _, _ in places], masters[-1] if masters else -1


class Outage(NamedTuple):
    """The time from the end or the pause of a node to its return; `back` is inf if it does not return."""

    who: str
    begin: float
    back: float


class LateByWay:
    """Transient messages that a master keeps for an unreachable next hop, which are missed until it returns.

    The master keeps them until BACK seconds after the node ended; then other nodes are queried instead. A
    subscriber's node that starts meanwhile waits as long. If another process ends before the node returns,
    the number may be lost. Messages of a node that has just returned are reported soon. In a tree of
    slaves, a former parent may also be cut off from the master, or stand still, and a slave needs TAKEOVER
    seconds to take another one.
    """

    def __init__(self, history: History, is_tree: bool = False) -> None:
        self._is_tree = is_tree
        self._backs = backs_of(history)
        self._ends = [(event.at, event.who) for event in restarts(history)]
        self._starts: dict[str, list[float]] = defaultdict(list)  # a cut of a node that is down ends earlier
        for event in history.of("start"):
            self._starts[event.who].append(event.at)
        faults = spans(history)
        cuts = ((begin, end, fault) for begin, end, fault in faults if fault.text in ("cut", "one way"))
        self._cuts = [(begin, end, {fault.who, fault.to}) for begin, end, fault in cuts]
        pauses = (fault for fault in faults if is_tree and fault[2].text == "pause")
        self._pauses = [self._outage(fault.who, begin, end) for begin, end, fault in pauses]
        self._outages = [self._outage(who, at) for at, who in self._ends] + self._pauses

    def _outage(self, who: str, begin: float, latest: float = inf) -> Outage:
        starts = (start for start in self._starts.get(who, ()) if start > begin)
        return Outage(who, begin, min([latest, *starts]))

    def due(self, event: Event, pub: Event, news: list[Event]) -> float:
        """Return when `pub` must be reported as missed after the delivery of `event`; inf: perhaps never."""
        if any("p" in each.flags for each in news):
            return event.at
        came_by, due = ways_of(event), event.at
        backs = [when for who, when in self._backs.items() if who not in came_by]
        if any(was_between(when, event.at - BACK, event.at + BACK) for when in backs):
            due += BACK
        for begin, end, names in self._cuts:  # a slave takes another parent during a long cut
            ends = {*came_by[-1:], *([master_of(event)] if self._is_tree else ())}
            if begin <= event.at <= end and names & ends and not names <= {*came_by}:
                is_forgotten = any(pub.at < at <= end for at, _ in self._ends)
                due = max(due, inf if is_forgotten else end + BACK)
        return max(due, self._due_by_outages(pub, came_by))

    def _due_by_outages(self, pub: Event, came_by: list[str]) -> float:
        """Return when the nodes that may have `pub`, and were down or paused, must have reported it.

        While a node of the route is paused, its former parent keeps what it has for that node.
        """
        due, ready = 0.0, self._ready(pub, came_by)
        for way, begin, back in self._outages:
            known = max(begin, ready) + (TAKEOVER if self._is_tree else BACK)
            if way not in came_by and begin <= max(pub.at, ready) and pub.at <= min(back, known):
                is_forgotten = any(pub.at < at <= back and who != way for at, who in self._ends)
                due = max(due, inf if is_forgotten else back + BACK)
        return due

    def _ready(self, pub: Event, came_by: list[str]) -> float:
        """Return the last start of the subscriber's node, or the end of a pause of a node of the route.

        Both began before `pub` was published.
        """
        starts = [at for home in came_by[-1:] for at in self._starts[home] if at <= pub.at]
        ends = [back for who, begin, back in self._pauses if who in came_by and begin <= pub.at]
        return max([*starts, *ends], default=0.0)


class Missed:
    """The messages that one subscription missed although later ones were delivered.

    `due` has the messages of which the subscriber must know. `silent(at)` returns the number of messages in
    gaps that no process knows any longer.
    """

    def __init__(self, late: LateByWay, silent: Callable[[float], int]) -> None:
        self._late, self._silent = late, silent
        self.told = 0
        self.due: list[Event] = []
        self.later: list[Event] = []  # deliveries after a gap
        self._waiting: list[tuple[float, Event]] = []  # times until which they must be reported

    def skip(self, event: Event, news: list[Event]) -> None:
        """Record the messages `news` that were not delivered before `event`."""
        if news:
            self.later.append(event)
            self._waiting += [(due, pub) for pub in news if (due := self._late.due(event, pub, news)) < inf]

    def has_due(self, at: float) -> bool:
        """Return whether more missed messages have become due by `at`."""
        return any(due <= at for due, _ in self._waiting)

    def are_untold(self, at: float) -> bool:
        """Record the messages due by `at`, and return whether fewer were reported than were due."""
        self.due += [pub for due, pub in self._waiting if due <= at]
        self._waiting = [(due, pub) for due, pub in self._waiting if due > at]
        return len(self.due) > self.told + self._silent(at)
