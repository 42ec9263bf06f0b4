"""When a subscriber must know of missed messages if the node that should deliver them was unreachable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import inf

from tools.simulator.checks.facts import restarts, spans, was_between
from tools.simulator.history import Event, History

BACK = 10.0  # s for which a replaced route is queried


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


class LateByWay:
    """Transient messages that a master keeps for an unreachable next hop, which are missed until it returns.

    The master keeps them until BACK seconds after the node ended; then other nodes are queried instead. A
    subscriber's node that starts meanwhile waits as long. If another process ends before the node returns,
    the number may be lost. Messages of a node that has just returned are reported soon. In a tree of
    slaves, a former parent may also be cut off from the master.
    """

    def __init__(self, history: History, is_tree: bool = False) -> None:
        self._is_tree = is_tree
        self._backs = backs_of(history)
        self._ends = [(event.at, event.who) for event in restarts(history)]
        self._starts: dict[str, list[float]] = defaultdict(list)  # a cut of a node that is down ends earlier
        for event in history.of("start"):
            self._starts[event.who].append(event.at)
        cuts = (
            (begin, end, fault) for begin, end, fault in spans(history) if fault.text in ("cut", "one way")
        )
        self._cuts = [(begin, end, {fault.who, fault.to}) for begin, end, fault in cuts]

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
        started = max((at for home in came_by[-1:] for at in self._starts[home] if at <= pub.at), default=0.0)
        for ended, way in self._ends:
            back = min((at for at in self._starts.get(way, ()) if at > ended), default=inf)
            if way not in came_by and ended <= pub.at <= min(back, max(ended, started) + BACK):
                is_forgotten = any(pub.at < at <= back and who != way for at, who in self._ends)
                due = max(due, inf if is_forgotten else back + BACK)
        return due


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
