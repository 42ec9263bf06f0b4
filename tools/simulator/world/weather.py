"""Failing wires: slow, lossy, one-way, or without notice of a connection's end.

TCP resends lost packets, so a loss is a delay, and all later frames wait behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from random import Random
from typing import Any

from tools.simulator.world import network
from tools.simulator.world.entrance import Entrance
from tools.simulator.world.mesh import SimNetwork
from tools.simulator.world.network import SPEED, End, Pipe
from tools.simulator.world.node import SimNode

RETRANSMIT, DOUBLINGS = (0.2, 6)  # TCP's first retransmission timeout in s, and doublings


@dataclass(frozen=True, slots=True)
class Wire:
    """A wire from one host to another."""

    low: float = SPEED[0]  # s
    high: float = SPEED[1]
    loss: float = 0.0  # share of lost packets
    bandwidth: float = inf  # bytes per second


FAIR = Wire()


class HarshPipe(Pipe):
    """A connection whose frames queue in each direction, and arrive in order."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._lines: tuple[deque[list[bytes] | None], ...] = (deque(), deque())
        self._blocked = [0, 0]
        self.lives = tuple(life(end) for end in self.ends)

    @property
    def is_cut(self) -> bool:
        one, other = (end.name for end in self.ends)
        return not (self.net.passes(one, other) and self.net.passes(other, one))

    def send(self, direction: int, frames: list[bytes]) -> None:
        self._put(direction, frames, sum(map(len, frames)))

    def _put(self, direction: int, frames: list[bytes] | None, size: int) -> None:
        self._lines[direction].append(frames)
        sender, receiver = self.ends[direction].name, self.ends[1 - direction].name
        assert isinstance(self.net, HarshNetwork)
        there = self.net.arrival(sender, receiver, size)
        self._last[direction] = max(self._last[direction], there)
        self.net.at(self._last[direction], lambda: self._front(direction))

    def _front(self, direction: int) -> None:
        receiver = self.ends[1 - direction]
        if not self.is_open:
            return
        if not self.net.passes(self.ends[direction].name, receiver.name) or is_dark(receiver):
            self._blocked[direction] += 1
            return
        frames = self._lines[direction].popleft()
        if frames is None or self.lives[1 - direction] != life(receiver):
            self.lose()  # TCP's FIN, or a machine without this connection
            return
        self._deliver(direction, frames)

    def heal(self) -> None:
        for direction in (0, 1):
            blocked, self._blocked[direction] = self._blocked[direction], 0
            for _ in range(blocked):
                wait = self.net.delay(self.ends[direction].name, self.ends[1 - direction].name)
                self.net.after(wait, lambda direction=direction: self._front(direction))  # type: ignore[misc]

    def end(self, who: End) -> None:
        self._put(self.ends.index(who), None, 0)

    def lose(self) -> None:
        """Report the end to the dialed process, too, as the operating system does."""
        listener = self.ends[1]
        if self.is_open and isinstance(listener, SimNode) and self.lives[1] == life(listener):
            self.net.after(0.001, lambda: listener.left(self.lives[1], self.keys[1]))
            if (entrance := entrance_of(listener)) is not None:
                entrance.ended(self)
        super().lose()


class HarshNetwork(SimNetwork):
    """A network with a random generator for each part, so that parts do not affect each other's numbers."""

    pipe_made: type[Pipe] = HarshPipe

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._dice: dict[str, Random] = {}
        self._wires: dict[tuple[str, str], Wire] = {}
        self._base = self._far = FAIR
        self._sites: Mapping[str, str] = {}  # by node
        self.parted: set[frozenset[str]] = set()  # pairs of sites without a connection
        self.one_way: set[tuple[str, str]] = set()  # cut directions as (from, to)
        self.files = Path()  # where data directories are,
        self.is_filed = False  # and real stores in some runs
        self.has_descriptors = False  # whether connections have descriptors like ZeroMQ's
        super().__init__(seed)

    def chance(self, what: str) -> Random:
        if what not in self._dice:
            self._dice[what] = Random(f"{self.seed} {what}")
        return self._dice[what]

    def passes(self, sender: str, receiver: str) -> bool:
        is_parted = self.parted and self._way(sender, receiver) in self.parted
        is_open = not is_parted and (sender, receiver) not in self.one_way
        return is_open and super().passes(sender, receiver)

    def _way(self, one: str, other: str) -> frozenset[str]:
        return frozenset((self._sites.get(one, ""), self._sites.get(other, "")))

    def wire(self, sender: str, receiver: str) -> Wire:
        is_local = sender.startswith("client") or receiver.startswith("client")
        if is_local:
            return FAIR
        is_far = self._sites.get(sender) != self._sites.get(receiver)
        return self._wires.get((sender, receiver), self._far if is_far else self._base)

    def set_wire(self, sender: str, receiver: str, wire: Wire | None) -> None:
        """Set the wire of one direction; None restores the default."""
        if wire is None:
            self._wires.pop((sender, receiver), None)
        else:
            self._wires[sender, receiver] = wire

    def lay(self, base: Wire) -> None:
        self._base = base

    def lay_between(self, sites: Mapping[str, str], far: Wire) -> None:
        """Set the default wire between nodes of different sites."""
        self._sites, self._far = sites, far

    def part(self, one: str, other: str) -> None:
        """Cut the wires between two sites.

        A connection that is still cut after PATIENCE seconds breaks.
        """
        self.parted.add(frozenset((one, other)))
        self._give_up_those_cut()

    def join(self, one: str, other: str) -> None:
        way = frozenset((one, other))
        self.parted.discard(way)
        for pipe in [p for p in self.pipes if p.is_open and self._way(*(e.name for e in p.ends)) == way]:
            pipe.heal()

    def delay(self, sender: str, receiver: str) -> float:
        wire = self.wire(sender, receiver)
        return self.chance(f"{sender} > {receiver}").uniform(wire.low, wire.high)

    def arrival(self, sender: str, receiver: str, size: int) -> float:
        """Return the time at which a message that leaves now arrives."""
        wire, dice = self.wire(sender, receiver), self.chance(f"{sender} > {receiver}")
        late, patience = self.delay(sender, receiver) + size / wire.bandwidth, RETRANSMIT
        if wire.loss:
            for _ in range(DOUBLINGS):
                if dice.random() >= wire.loss:
                    break
                late, patience = late + patience, 2 * patience
        return self.now + late

    def connect(self, dialler: End, key: Any, address: str) -> Pipe | None:
        there = next((n for n in self.nodes.values() if address in (n.address, n.ipc)), None)
        if there is not None and address not in self.bound and is_dark(there):
            pipe = self.pipe_made(self, dialler, key, there, address, next(self._numbers))
            self.keep(pipe)
            return pipe  # neither accepted nor refused
        made = super().connect(dialler, key, address)
        if made is not None and (entrance := entrance_of(made.ends[1])) is not None:
            entrance.entered(made)
        return made

    def shut(self, sender: str, receiver: str) -> None:
        """Cut the wire from `sender` to `receiver`, but not the one back."""
        self.one_way.add((sender, receiver))
        self._give_up_those_cut()

    def _give_up_those_cut(self) -> None:
        for pipe in [p for p in self.pipes if p.is_open and p.is_cut]:
            self.after(network.PATIENCE, lambda pipe=pipe: pipe.is_cut and pipe.lose())  # type: ignore[misc]

    def heal_pair(self, one: str, other: str) -> None:
        self.cuts.discard(frozenset((one, other)))
        self.one_way -= {(one, other), (other, one)}
        for pipe in [p for p in self.pipes if p.is_open and {one, other} == {end.name for end in p.ends}]:
            pipe.heal()

    def heal(self) -> None:
        self.one_way.clear()
        self.parted.clear()
        self._wires.clear()
        super().heal()


def life(end: End) -> int:
    """Return the boot of the process at `end`; 0 for a client."""
    return end.disk.boot if isinstance(end, SimNode) else 0


def is_dark(end: End) -> bool:
    """Return whether the machine of `end` has no power, so that its system does not answer."""
    return bool(getattr(end, "is_dark", False))


def entrance_of(end: End) -> Entrance | None:
    """Return the entrance of `end`, or None if its connections have no descriptors."""
    return getattr(end, "entrance", None)
