"""Messages of queues that may be lost, or exist at two nodes, and since when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import inf

from tools.simulator.checks.facts import Facts, Id, moves
from tools.simulator.history import Event, History

KEPT_TWICE = "kept twice"  # a second master has legitimately kept a copy


class Unsure:
    """The times from which messages may exist at two nodes, if marked redelivered.

    `unsure_since` applies to all, kept_twice in durables.py to single ones, and so do moves of producers
    before the answer. If a queue is deleted and declared again, a node that was unreachable does not know the
    outcome of its transfers.
    """

    def __init__(self, history: History, facts: Facts) -> None:
        self._all = unsure_since(history, facts)
        self._single = {e.id: e.at for e in history.of(KEPT_TWICE)} | dict(put_at_two_nodes(history))
        removed = [(e.to, e.at) for e in history.of("fault") if e.text == "queue removed"]
        self._removed = dict(reversed(removed))

    def since(self, name: Id) -> float:
        return min(self._all, self._single.get(name, inf), self._removed.get(name[1], inf))


def put_at_two_nodes(history: History) -> Iterator[tuple[Id, float]]:
    """Yield each message whose producer moved before its answer, and the time of the move."""
    moved = moves(history)
    said = {e.id: e.at for e in history.of("put said")}
    for e in history.of("put") if moved else ():
        until = said.get(e.id, inf)
        begun = (begin for begin, _ in moved.get(e.who, ()) if e.at <= begin <= until)
        if (first := next(begun, None)) is not None:
            yield e.id, first


def unsure_since(history: History, facts: Facts) -> float:
    """Return the time from which a message may exist at two nodes.

    A node was forgotten, its store was replaced by an old copy, or the content of a memory-only queue is gone
    and its sender does not know the outcome.
    """
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
    """Return the messages that may exist twice, as two messages.

    Each was in memory only, and a process ended before the producer had an answer. The producer put the
    message again as a new one, and the next process does not know that the first one may have moved to
    another node.
    """
    moved = moves(history)
    said = {
        e.id: (e.at, "" if e.who in moved else e.to.split("/")[2]) for e in history.of("put said") if e.to
    }
    ends = [(e.at, e.who) for e in history.of("crash", "stop")]
    found = set()
    for e in history.of("put"):
        answered, node = said.get(e.id, (inf, ""))
        in_memory = "p" not in e.flags or (node, e.domain) in facts.in_memory
        if in_memory and any(e.at <= at <= answered and node in ("", who) for at, who in ends):
            found.add(e.id)
    return found


class Lost:
    """The messages that may be lost.

    A process may lose its memory-only messages, a store that an old copy replaced all of its messages, and a
    deleted queue its own.
    """

    def __init__(self, history: History, facts: Facts) -> None:
        self._in_memory = facts.in_memory
        self._ends = [(e.at, e.who) for e in history.of("crash", "stop")]
        self._back = {e.who: e.at for e in history.of("went back")}
        self._drained = [(e.at, e.who) for e in history.of("fault") if e.text == "drained"]
        self._removed = {e.to for e in history.of("fault") if e.text == "queue removed"}
        self._at = {e.id: e.to.split("/")[2] for e in history.of("put said") if e.to}
        self._were: dict[Id, set[str]] = defaultdict(set)  # nodes that had each message
        names = {uuid: name for name, uuid in facts.uuids.items()}
        for e in history.of("comes", "went") if self._back else ():
            # The arrival of a message in a process's last commit is reported by the next process only.
            self._were[e.id].add(e.who if e.kind == "comes" else names.get(e.to, ""))

    def is_excused(self, put: Event, until: float) -> bool:
        """Return whether the message of `put` may be lost by `until`."""
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
        """Return whether a node with the memory-only queue was drained by `until`.

        Another node has the queue alone then.
        """
        return self._of_memory(domain, [node for at, node in self._drained if at <= until])

    def _of_memory(self, domain: str, nodes: Iterable[str]) -> bool:
        return any((node, domain) in self._in_memory for node in nodes)

    def _ends_between(self, begin: float, end: float) -> Iterator[str]:
        return (who for at, who in self._ends if begin <= at <= end)
