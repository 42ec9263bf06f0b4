"""Who puts into queues and takes from them in a long run: at any node, and each for a while only."""

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM

from tools.lab_parts.queue_ledger import Book
from tools.running.processes import Failed, Processes, Program
from tools.running.queue_records import read_answers, read_events

BETWEEN = (0.2, 2.5)  # s from one thing that befalls a client to the next
AWAY, STILL = (0.0, 2.0), (0.5, 8.0)  # s until another one comes in its place; s that one stands still
NEW_FASHION = 0.1  # chance that another one is drawn
TAKER, PUTTER = "taker", "putter"
FATES = {  # who is meant, and how often that is drawn
    "leaves": (TAKER, 4),
    "is killed": (TAKER, 3),
    "stands still": (TAKER, 2),
    "producer is killed": (PUTTER, 1),
    "producer leaves": (PUTTER, 1),
}


@dataclass(slots=True)
class Place:
    """A place in the crowd, in which one client is after the other. `node`: always at that one."""

    kind: str
    number: int
    queue: str
    node: str = ""
    lives: int = 0
    program: Program | None = None
    due: float = 0.0  # when the next one comes
    goes_on: float = inf  # when it stands still no more


@dataclass(slots=True)
class Crowd:
    """All of them. What befalls them does so while somebody waits for something else: see `look_after`."""

    processes: Processes
    nodes: Mapping[str, Sequence[str]]  # by name: what stands in front of a command there
    chance: random.Random
    rate: int  # messages a second of each producer
    books: dict[str, Book]  # by queue
    places: list[Place] = field(default_factory=list)
    fates: Counter[str] = field(default_factory=Counter)
    is_restless: bool = False
    _next: float = 0.0
    _fashion: list[str] = field(default_factory=list)
    _leaving: list[Program] = field(default_factory=list)

    def look_after(self) -> None:
        """Nothing here waits for anything."""
        now = time.monotonic()
        for place in self.places:
            if place.program is None and place.due <= now:
                self._begin(place)
            elif place.program is not None and place.goes_on <= now:
                place.program.signal(SIGCONT)
                place.goes_on = inf
            elif place.program is not None and place.program.ended():
                raise Failed(f"{place.program.name} ended by itself: {place.program.words()}")
        if self.is_restless and now >= self._next:
            self._next = now + self.chance.uniform(*BETWEEN)
            self._befall(now)

    def _begin(self, place: Place) -> None:
        place.lives += 1
        life, node = f"{place.kind}-{place.number}-{place.lives}", place.node or self._anywhere(place.kind)
        book, path = self.books[place.queue], f"{place.queue}-{life}.txt"
        if place.kind == PUTTER:
            book.put_at[life] = node
            module, own = "producer", [life, str(self.rate), path]
        else:
            book.taken_at[life] = node
            module, own = "consumer", [path, str(self.chance.randrange(10**6))]
        program = f"tools.running.queue_{module}"
        inside = self.nodes[node]
        place.program = self.processes.start(life, program, node, place.queue, *own, inside=inside)

    def _anywhere(self, kind: str) -> str:
        """Those who take go where it is the fashion, so that something waits at the other nodes."""
        if kind == PUTTER:
            return self.chance.choice([*self.nodes])
        if not self._fashion or self.chance.random() < NEW_FASHION:
            self._fashion = self.chance.sample([*self.nodes], 2)
        return self.chance.choice(self._fashion)

    def _befall(self, now: float) -> None:
        names = list(FATES)
        (fate,) = self.chance.choices(names, [FATES[name][1] for name in names])
        kind, _ = FATES[fate]
        awake = [
            place
            for place in self.places
            if place.kind == kind
            and place.program is not None
            and place.goes_on == inf
            # Who leaves gives back what he has not begun as if nobody had had it: it comes late then.
            and not (fate == "leaves" and self.books[place.queue].keeps_order)
        ]
        if not awake:
            return
        place = self.chance.choice(awake)
        assert place.program is not None
        self.fates[fate] += 1
        if fate == "stands still":
            place.program.signal(SIGSTOP)
            place.goes_on = now + self.chance.uniform(*STILL)
            return
        place.program.signal(SIGKILL if "killed" in fate else SIGTERM)
        self._leaving.append(place.program)
        place.program, place.due = None, now + self.chance.uniform(*AWAY)

    def all_there(self) -> bool:
        """Is everybody there, and awake?"""
        return all(place.program is not None and place.goes_on == inf for place in self.places)

    def dismiss(self, kind: str) -> None:
        """All of that kind are to leave, and nobody comes in their places."""
        for place in [place for place in self.places if place.kind == kind]:
            self.places.remove(place)
            if place.program is not None:
                place.program.signal(SIGTERM)
                self._leaving.append(place.program)

    def have_left(self) -> bool:
        """Are all gone who were to?"""
        return all(program.ended() for program in self._leaving)

    def read(self, folder: Path) -> None:
        """What all have written down goes into the books."""
        for queue, book in self.books.items():
            for life in book.put_at:
                book.answers.update(read_answers(_lines(folder / f"{queue}-{life}.txt")))
            for life in book.taken_at:
                book.events[life] = read_events(_lines(folder / f"{queue}-{life}.txt"))


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True) if path.exists() else []
