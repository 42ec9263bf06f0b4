"""What of queues may be lost, or be at two nodes, and when?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import inf

from tools.simulating.checks.facts import Facts, Id
from tools.simulating.history import Event, History

KEPT_TWICE = "kept twice"  # of several masters a second one has kept a copy, as it may


class Unsure:
    """The moments from which on messages may be at two nodes, if that is said: see `unsure_since` of all, and
    kept_twice in durables.py of single ones. Of a queue that is removed, and declared anew: one of its nodes
    may have been away, and does not know what became of what it had sent."""

    def __init__(self, history: History, facts: Facts) -> None:
        self._all = unsure_since(history, facts)
        self._single = {e.id: e.at for e in history.of(KEPT_TWICE)}
        removed = [(e.to, e.at) for e in history.of("fault") if e.text == "queue removed"]
        self._removed = dict(reversed(removed))

    def since(self, name: Id) -> float:
        return min(self._all, self._single.get(name, inf), self._removed.get(name[1], inf))


def unsure_since(history: History, facts: Facts) -> float:
    """From when on a message may be at two nodes: one of them was given up, its store has gone back, or what
    was in its memory only is gone, and whoever brought it there does not know what became of it."""
    memory = {node for node, _ in facts.in_memory}
    return min(
        (
            e.at
            for e in history.of("went back", "fault", "crash", "stop")
            if e.kind == "went back"
            or (e.kind == "fault" and e.text == "forgotten")
            or (e.kind in ("crash", "stop") and e.who in memory)
        ),
        default=inf,
    )


def put_anew(history: History, facts: Facts) -> set[Id]:
    """What may be there twice, as if it were two: it is in memory only, and the process where it was put
    ended before its producer had an answer. He has put it again, and the next process knows nothing of it,
    though it had moved to another node perhaps."""
    said = {e.id: (e.at, e.to.split("/")[2]) for e in history.of("put said") if e.to}
    ends = [(e.at, e.who) for e in history.of("crash", "stop")]
    found = set()
    for e in history.of("put"):
        answered, node = said.get(e.id, (inf, ""))
        in_memory = "p" not in e.flags or (node, e.domain) in facts.in_memory
        if in_memory and any(e.at <= at <= answered and node in ("", who) for at, who in ends):
            found.add(e.id)
    return found


class Lost:
    """What may be lost: with a process what is in memory only, with a store that went back what came there,
    with a queue that is removed all of it."""

    def __init__(self, history: History, facts: Facts) -> None:
        self._in_memory = facts.in_memory
        self._ends = [(e.at, e.who) for e in history.of("crash", "stop")]
        self._back = {e.who: e.at for e in history.of("went back")}
        self._drained = [(e.at, e.who) for e in history.of("fault") if e.text == "drained"]
        self._removed = {e.to for e in history.of("fault") if e.text == "queue removed"}
        self._at = {e.id: e.to.split("/")[2] for e in history.of("put said") if e.to}
        self._were: dict[Id, set[str]] = defaultdict(set)  # the nodes where each was
        names = {uuid: name for name, uuid in facts.uuids.items()}
        for e in history.of("comes", "went") if self._back else ():
            # What came in the last commit of a process, the next one says, and that it came nobody has seen.
            self._were[e.id].add(e.who if e.kind == "comes" else names.get(e.to, ""))

    def is_excused(self, put: Event, until: float) -> bool:
        """May that be lost by then?"""
        if put.domain in self._removed:
            return True
        at = self._at.get(put.id, "")
        if any(self._back.get(node, inf) < until for node in (at, *self._were[put.id])):
            return True
        in_memory = "p" not in put.flags
        ends = list(self._ends_between(put.at, until))
        if in_memory or (at, put.domain) not in self._in_memory:
            return bool(ends) and in_memory
        return at in ends or (self._has_gone(put.domain, until) and self._of_memory(put.domain, ends))

    def _has_gone(self, domain: str, until: float) -> bool:
        """Was a node drained by then that has the queue in memory only? Then another one has it alone."""
        return self._of_memory(domain, [node for at, node in self._drained if at <= until])

    def _of_memory(self, domain: str, nodes: Iterable[str]) -> bool:
        return any((node, domain) in self._in_memory for node in nodes)

    def _ends_between(self, begin: float, end: float) -> Iterator[str]:
        return (who for at, who in self._ends if begin <= at <= end)
