"""Counts noteworthy events of queues in a finished history, to prove that they happen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from mesh.names import PUTS, SUBS
from tools.simulator.checks.facts import Facts, Id
from tools.simulator.history import Event, History

KINDS = (
    "goes",
    "went",
    "came back",
    "comes",
    "no room",
    "crash",
    "stop",
    "went back",
    "fault",
    "gives",
    "opened",
)
DURABLE = PUTS + SUBS  # prefix of durable subscription queues


def met_of_queues(history: History, facts: Facts) -> Counter[str]:
    """Count the events of queues and of durable subscriptions."""
    moves = _Moves(facts)
    for e in history.of(*KINDS):
        moves.event(e)
    return moves.met + met_of_durables(history)


def met_of_durables(history: History) -> Counter[str]:
    """Count the events of durable subscriptions: declarations, and deliveries of their copies."""
    met, removed = Counter[str](), set[str]()
    for e in history.of("durable", "fault", "gives"):
        if e.kind == "fault":
            removed |= {e.to} if e.text == "queue removed" else set()
        elif e.kind == "durable":
            met[f"a durable subscription declared{' anew' * (e.domain in removed)}"] += 1
        elif e.domain.startswith(DURABLE):
            met[f"a copy given {'after it moved' if 'm' in e.flags else 'where it was kept'}"] += 1
            met["a copy given once more"] += e.gap > 0
    return met


@dataclass(slots=True)
class _Move:
    """A message in transit to the node `to`.

    `boot` is that of its source, and `lives` counts the ended processes of its target, at the start of the
    move.
    """

    to: str
    boot: int
    lives: int


class _Moves:
    """The messages in transit, updated event by event."""

    def __init__(self, facts: Facts) -> None:
        self.met = Counter[str]()
        self._in_memory = facts.in_memory
        self._names = {uuid: name for name, uuid in facts.uuids.items()}
        self._lives = Counter[str]()  # ended processes of each node
        self._going: dict[tuple[str, Id], _Move] = {}
        self._were: set[tuple[str, Id]] = set()  # nodes that a message has left
        self._given: dict[tuple[str, Id], int] = {}  # boot by session and delivered message

    def event(self, e: Event) -> None:
        match e.kind:
            case "goes":
                to = self._names.get(e.to, e.to)
                self._going[e.who, e.id] = _Move(to, e.boot, self._lives[to])
                self._were.add((e.who, e.id))
            case "went" | "came back":
                self._ends(e)
            case "comes":
                self.met["the same message twice in one part"] += (e.who, e.id) in self._going
                self.met["a message back where it was"] += (e.who, e.id) in self._were
            case "no room":
                self.met[f"no room {e.text}"] += 1
            case "crash" | "stop":
                self._lives[e.who] += 1
            case "went back":
                self.met["a store went back"] += 1
            case "fault":
                self._befalls(e)
            case "gives":
                self._given[e.to, e.id] = e.boot
            case "opened":
                self._opens(e.keys[0], e.boot, e.keys[1:])

    def _ends(self, e: Event) -> None:
        move = self._going.pop((e.who, e.id), None)
        if move is None:
            return
        is_taken = e.kind == "went"
        self.met["a move taken" if is_taken else "a move refused"] += 1
        self.met["a move over a crash of its source"] += move.boot != e.boot
        self.met["a move over a crash of its target"] += move.lives != self._lives[move.to]
        self.met["a move to a part in memory"] += is_taken and (move.to, e.domain) in self._in_memory

    def _befalls(self, e: Event) -> None:
        if e.text == "queue removed":
            is_so = any(name[1] == e.to for _, name in self._going)
            self.met["a queue removed while something of it moved"] += is_so
        elif e.text == "forgotten":
            is_so = any(move.to == e.who for move in self._going.values())
            self.met["a node forgotten with something on its way there"] += is_so

    def _opens(self, session: str, boot: int, kept: Iterable[str]) -> None:
        for text in kept:
            stream, domain, number = text.split(" ")
            given = self._given.get((session, (stream, domain, int(number))), boot)
            self.met["what somebody had kept over a restart"] += given != boot
