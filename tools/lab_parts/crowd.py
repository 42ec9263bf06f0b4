"""The clients of a long run: at any node, and each for a limited time."""

import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from typing import ClassVar

from tools.running.processes import Failed, Processes, Program

BETWEEN = (0.2, 2.5)  # s between two events of clients
AWAY, STILL = (0.0, 2.0), (0.5, 8.0)  # s until a successor; s of a pause
NEW_FASHION = 0.1  # chance that the preferred nodes change


@dataclass(slots=True)
class Place:
    """A place in the crowd, with one client after the other.

    `node` is the node of all its clients, or empty for any node.
    """

    kind: str
    number: int
    what: str  # queue or address of the clients
    node: str = ""
    lives: int = 0
    program: Program | None = None
    due: float = 0.0  # start of the next client
    goes_on: float = inf  # end of the pause


class Roles(ABC):
    """The roles of clients, which differ from run to run."""

    fates: ClassVar[Mapping[str, tuple[str, int]]]  # by name: the affected kind, and the weight
    fashionable: ClassVar[str]  # the kind that gathers at few nodes

    @abstractmethod
    def command(self, place: Place, life: str, node: str) -> Sequence[str]:
        """Return the module and the arguments of the next client in a place."""

    def may_befall(self, fate: str, place: Place) -> bool:
        """Return whether the event may affect the client in this place."""
        return True

    def befell(self, fate: str, life: str) -> None:  # noqa: B027  most need not know
        """Note an event of a client; the default does nothing."""


@dataclass(slots=True)
class Crowd:
    """The clients of a run, with random events.

    `look_after` starts, resumes and disturbs them while the run waits for something else.
    """

    processes: Processes
    nodes: Mapping[str, Sequence[str]]  # command prefixes by node
    chance: random.Random
    roles: Roles
    places: list[Place] = field(default_factory=list)
    fates: Counter[str] = field(default_factory=Counter)
    is_restless: bool = False
    _next: float = 0.0
    _fashion: list[str] = field(default_factory=list)
    _leaving: list[Program] = field(default_factory=list)

    def look_after(self) -> None:
        """Start, resume and disturb clients that are due, without waiting.

        Raises Failed if a client ended by itself.
        """
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
        command = self.roles.command(place, life, node)
        place.program = self.processes.start(life, *command, inside=self.nodes[node])

    def _anywhere(self, kind: str) -> str:
        if kind != self.roles.fashionable:
            return self.chance.choice([*self.nodes])
        if not self._fashion or self.chance.random() < NEW_FASHION:
            self._fashion = self.chance.sample([*self.nodes], 2)
        return self.chance.choice(self._fashion)

    def _befall(self, now: float) -> None:
        fates = self.roles.fates
        names = list(fates)
        (fate,) = self.chance.choices(names, [fates[name][1] for name in names])
        kind, _ = fates[fate]
        awake = [
            place
            for place in self.places
            if place.kind == kind
            and place.program is not None
            and place.goes_on == inf
            and self.roles.may_befall(fate, place)
        ]
        if not awake:
            return
        place = self.chance.choice(awake)
        assert place.program is not None
        self.fates[fate] += 1
        self.roles.befell(fate, place.program.name)
        if fate == "stands still":
            place.program.signal(SIGSTOP)
            place.goes_on = now + self.chance.uniform(*STILL)
            return
        place.program.signal(SIGKILL if "killed" in fate else SIGTERM)
        self._leaving.append(place.program)
        place.program, place.due = None, now + self.chance.uniform(*AWAY)

    def all_there(self) -> bool:
        """Return whether each place has a client, and none is paused."""
        return all(place.program is not None and place.goes_on == inf for place in self.places)

    def dismiss(self, kind: str) -> None:
        """Send SIGTERM to all clients of `kind`, and remove their places."""
        for place in [place for place in self.places if place.kind == kind]:
            self.places.remove(place)
            if place.program is not None:
                place.program.signal(SIGTERM)
                self._leaving.append(place.program)

    def have_left(self) -> bool:
        """Return whether all clients that were stopped or killed have ended."""
        return all(program.ended() for program in self._leaving)


def lines(path: Path) -> list[str]:
    """Return the lines of a file, with their line ends, or none if the file does not exist."""
    return path.read_text().splitlines(keepends=True) if path.exists() else []
