"""The wires between many memberships in one program, with simulated time and seeded random numbers.

Links are like TCP by default: first in, first out, and lost messages arrive later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Generic, Protocol, TypeVar

from mesh.discovery.member import Node
from mesh.discovery.membership import MemberEvent, NameClash, SwimTiming

SPEED = 0.001  # most s in transit without loss
RETRY = 0.2  # s until the first resend, doubling


@dataclass(frozen=True, slots=True)
class Happened:
    """An event that the membership of the node `observer` reported."""

    at: float
    observer: str
    event: MemberEvent


class End(Protocol):
    """A process as the wires use it."""

    node: Node
    is_up: bool

    @property
    def name(self) -> str: ...

    def receive(self, sender: Any, message: Any) -> None: ...


E = TypeVar("E", bound=End)


class SwimWires(Generic[E]):
    """Processes, and the wires between them.

    `loss` is the share of lost messages, which `is_tcp` turns into delay.
    """

    def __init__(self, seed: int, loss: float, is_tcp: bool, timing: SwimTiming | None) -> None:
        self.random = Random(seed)
        self.loss = loss
        self.is_tcp = is_tcp
        self.timing = timing or SwimTiming()
        self.now = 0.0
        self.happened: list[Happened] = []
        self.processes: dict[bytes, list[E]] = {}  # processes of a node, the newest last
        self.sides: dict[str, int] = {}  # of a partition
        self.cuts: set[frozenset[str]] = set()  # pairs that cannot reach each other
        self.packets = 0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._serial = count()
        self._free: dict[tuple[bytes, bytes], float] = {}  # arrival of the last message by direction

    # --- processes ----------------------------------------------------------------------------------------

    def process(self, uuid: bytes) -> E:
        """Return the process that a dialer of the node reaches: the newest that runs, or else the newest."""
        processes = self.processes[uuid]
        return next((p for p in reversed(processes) if p.is_up), processes[-1])

    def _all(self) -> list[E]:
        return [p for processes in self.processes.values() for p in processes]

    def up(self) -> list[E]:
        return [p for p in self._all() if p.is_up]

    def times(self, kind: type[MemberEvent], name: str) -> list[float]:
        """Return the times at which nodes concluded an event of `kind` about the node `name`."""
        return [h.at for h in self.happened if isinstance(h.event, kind) and subject(h.event) == name]

    # --- messages -------------------------------------------------------------------------------------------

    def part(self, *sides: Iterable[E]) -> None:
        self.sides = {node.name: i for i, side in enumerate(sides) for node in side}

    def heal(self) -> None:
        self.sides, self.cuts = {}, set()

    def is_cut(self, a: E, b: E) -> bool:
        is_apart = bool(self.sides) and self.sides.get(a.name) != self.sides.get(b.name)
        return is_apart or (bool(self.cuts) and frozenset((a.name, b.name)) in self.cuts)

    def send(self, sender: E, target: E, message: object) -> None:
        """Send a message, unless the wire is cut; without `is_tcp`, it may be lost."""
        self.packets += 1
        if self.is_cut(sender, target):
            return
        arrives = self.now + self.random.random() * SPEED
        if self.loss:
            retry = RETRY
            while self.random.random() < self.loss:
                if not self.is_tcp:
                    return
                arrives += retry
                retry *= 2
        if self.is_tcp:
            way = (sender.node.uuid, target.node.uuid)
            arrives = self._free[way] = max(arrives, self._free.get(way, 0.0))
        self.at(arrives, target.receive, sender, message)

    # --- time ---------------------------------------------------------------------------------------------

    def after(self, seconds: float, act: Callable[..., None], *arguments: object) -> None:
        self.at(self.now + seconds, act, *arguments)

    def at(self, moment: float, act: Callable[..., None], *arguments: object) -> None:
        heappush(self._heap, (moment, next(self._serial), act, arguments))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        heap = self._heap
        while heap and heap[0][0] <= end:
            self.now, _, act, arguments = heappop(heap)
            act(*arguments)
        self.now = end

    def until(self, is_so: Callable[[], bool], within: float, step: float = 0.1) -> float:
        """Let time pass until the condition holds, and return the seconds.

        Raises AssertionError after `within` seconds.
        """
        start = self.now
        while not is_so():
            assert self.now - start < within, f"not within {within} s"
            self.run(step)
        return self.now - start


def subject(event: MemberEvent) -> str:
    """Return the name of the node that an event is about."""
    return event.newcomer.name if isinstance(event, NameClash) else event.member.name
