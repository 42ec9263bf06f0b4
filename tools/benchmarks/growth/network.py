"""Simulated nodes whose CPU time is counted separately from that of the network."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from functools import partial
from time import process_time
from typing import Any

from tools.benchmarks.growth.host import IDLE
from tools.running.processes import Failed
from tools.simulator.world.mesh import SimNetwork
from tools.simulator.world.network import Pipe
from tools.simulator.world.node import SimNode
from tools.simulator.world.worker import Worker

STEP = 0.05  # simulated s between checks, which are expensive
PATIENCE = 120.0  # simulated s


class Counted(SimNode):
    """A node whose CPU time is counted.

    `spent` has the CPU seconds for input, gossip, timers and the writes of its simulated store.
    """

    spent = 0.0

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        self.count(partial(super().hear, key, frames))

    def gossiped(self, frames: list[bytes]) -> None:
        self.count(partial(super().gossiped, frames))

    def _tick(self, life: int) -> None:
        self.count(partial(super()._tick, life))

    def _hired(self) -> Worker:
        return CountedWorker(self, self.disk)

    def count(self, work: Callable[[], None]) -> None:
        start = process_time()
        work()
        self.spent += process_time() - start


class CountedWorker(Worker):
    """A worker whose CPU time counts for its node."""

    process: Counted

    def written(self) -> None:
        self.process.count(super().written)


def started(net: SimNetwork, name: str, *seeds: str, **settings: Any) -> Counted:
    """Start and return a node that publishes node states; `seeds` are names of nodes."""
    node = Counted(net, name, seeds, {"sample": lambda: IDLE, **settings})
    node.start()
    return node


def until(net: SimNetwork, condition: Callable[[], bool], what: str) -> float:
    """Run the network until the condition holds, and return the simulated seconds.

    Raises Failed after PATIENCE.
    """
    start = net.now
    while not condition():
        if net.now - start > PATIENCE:
            raise Failed(f"not within {PATIENCE:g} simulated seconds: {what}")
        net.run(STEP)
    return net.now - start


class Ways:
    """The connections of clients to one node, as a `guest.Line`."""

    name = "guests"

    def __init__(self, net: SimNetwork, node: SimNode) -> None:
        self._net, self._node = net, node
        self._pipes: dict[Hashable, Pipe] = {}
        self._told: dict[Hashable, deque[list[bytes]]] = {}

    def accept(self, key: Hashable) -> deque[list[bytes]]:
        pipe = self._net.connect(self, key, self._node.ipc)
        assert pipe is not None, f"{self._node.name} does not run"
        self._pipes[key], self._told[key] = pipe, deque()
        return self._told[key]

    def say(self, key: Hashable, frames: list[bytes]) -> None:
        self._pipes[key].send(0, frames)

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        self._told[key].append(frames)

    def on_closed(self, key: Hashable) -> None:
        raise Failed(f"{self._node.name} has cut off {key}")
