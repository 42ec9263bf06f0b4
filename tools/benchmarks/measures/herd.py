"""The time until the clients of a node that died are served at another node, which all of them visit.

The real cores of nodes and clients run on simulated wires in one process. A node whose core has used CPU time
handles its next event as much later, so the waits of clients and the work of nodes add up as they would in
processes of their own. A worker's results wait in line, too, and the node's reads count as its work.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mesh.kernel.client_room import VISITS
from mesh.kernel.context.effects import Commit, Fetch
from mesh.mapping.rules import Rule
from tools.benchmarks.loads.figures import median
from tools.benchmarks.pages.report import Report, Row
from tools.simulator.clients.client import SimClient
from tools.simulator.world.mesh import SimNetwork
from tools.simulator.world.network import Pipe
from tools.simulator.world.node import SimNode
from tools.simulator.world.worker import Outcome, Worker

CLIENTS, SUBSCRIPTIONS, STORED = 1_000, 10, 300
KEYS = 100  # of all subscriptions
NEWS = "NEWS"
RULES = (Rule("ibis", domains=(NEWS,)),)
LIMIT = 120.0  # s until all are served
STEPS = 1


class BusyNode(SimNode):
    """A node that handles one event after the other, each for as long as its core needs.

    `worked` is the CPU time of its core in s; until the simulated time `busy`, further events wait.
    """

    worked = busy = 0.0
    _is_working = False

    def __init__(self, *arguments: Any) -> None:
        self._waiting = deque[Callable[[], None]]()
        super().__init__(*arguments)

    def _hired(self) -> Worker:
        return BusyWorker(self, self.disk)

    def when_idle(self, what: Callable[[], None]) -> None:
        """Call `what` when the events before it are handled; at once within an event."""
        if self._is_working:
            what()
            return
        self._waiting.append(what)
        if len(self._waiting) == 1:
            self.net.at(self.busy, self._work)

    def _work(self) -> None:
        self._is_working, began = True, time.thread_time()
        self._waiting[0]()
        self._is_working, used = False, time.thread_time() - began
        self.worked, self.busy = self.worked + used, self.net.now + used
        self._waiting.popleft()
        if self._waiting:
            self.net.at(self.busy, self._work)

    def heard_on(self, pipe: Pipe, frames: list[bytes]) -> None:
        self.when_idle(lambda: SimNode.heard_on(self, pipe, frames))

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        self.when_idle(lambda: SimNode.hear(self, key, frames))

    def _tick(self, life: int) -> None:
        self.when_idle(lambda: SimNode._tick(self, life))


class BusyWorker(Worker):
    """A worker whose results a busy node handles after the events before them."""

    process: BusyNode

    def answer(self, outcome: Outcome, batch: Sequence[Commit | Fetch]) -> None:
        self.process.when_idle(lambda: self._answer(outcome, batch))

    def _answer(self, outcome: Outcome, batch: Sequence[Commit | Fetch]) -> None:
        if self.is_at_work:
            super().answer(outcome, batch)


@dataclass
class Herd:
    """A mesh whose node `heron` dies with all its clients. They visit `stork`; `ibis` has the messages."""

    clients: int = CLIENTS
    subscriptions: int = SUBSCRIPTIONS
    stored: int = STORED
    net: SimNetwork = field(default_factory=SimNetwork)
    seconds: list[float] = field(default_factory=list)  # until each client was served

    def __post_init__(self) -> None:
        self.nodes = ibis, stork, heron = [self._node(name) for name in ("ibis", "stork", "heron")]
        self.net.run(5.0)
        self.herd = list[SimClient]()
        for n in range(self.clients):
            self.herd.append(SimClient(self.net, heron.ipc, f"c{n}", others=[stork.ipc]))
            if (n + 1) % (VISITS // 2) == 0:
                self.net.run(1.0)  # a busy node would refuse others, which would go to `stork`
        self.net.until(lambda: all(client.is_up for client in self.herd), LIMIT)
        assert {client.core.line.home for client in self.herd} == {heron.name}
        for n, client in enumerate(self.herd):
            for i in range(self.subscriptions):
                key = f"k{(n * self.subscriptions + i) % KEYS}"
                client.subscribe(key, domain=NEWS, initial=False)
        confirmed = [s for client in self.herd for s in client.subscriptions.values()]
        self.net.until(lambda: all(s.is_confirmed for s in confirmed), LIMIT)
        self.publisher = SimClient(self.net, ibis.ipc, "publisher").connected()

    def _node(self, name: str) -> BusyNode:
        node = BusyNode(self.net, name, ("ibis",), {"rules": RULES, "max_sessions": 10 * self.clients})
        node.start()
        return node

    def publish(self, count: int) -> None:
        for n in range(count):
            self.publisher.publish(f"k{n % KEYS}", b"x" * 100, persistent=True, domain=NEWS)
        self.net.until(lambda: self.publisher.is_through, LIMIT)

    def run(self) -> dict[str, float]:
        """Kill `heron`, and return the figures until each client has the messages published meanwhile."""
        ibis, stork, heron = self.nodes
        heron.kill()
        began = self.net.now
        self.publish(self.stored)
        before = stork.worked, ibis.worked
        each = self.stored // KEYS * self.subscriptions
        waiting = set(self.herd)
        while waiting and self.net.now < began + LIMIT:
            self.net.run(0.05)
            served = {client for client in waiting if _received(client) >= each}
            self.seconds += [self.net.now - began] * len(served)
            waiting -= served
        self.seconds += [LIMIT] * len(waiting)
        return {
            "p50": median(self.seconds),
            "all": max(self.seconds),
            "visited": stork.worked - before[0],
            "master": ibis.worked - before[1],
        }


def _received(client: SimClient) -> int:
    return sum(len(s.got) for s in client.subscriptions.values())


@contextmanager
def _undisturbed() -> Any:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def measured(advance: Callable[[], None], herd: Callable[[], Herd] = Herd) -> Report:
    with _undisturbed():
        it = herd()
        found = it.run()
    note = (
        f"half of {it.clients:,} clients with {it.subscriptions} subscriptions after {found['p50']:.1f} s; "
        f"CPU of the visited node {found['visited']:.1f} s, of the master {found['master']:.1f} s"
    )
    flaw = "not all were served" if found["all"] >= LIMIT else ""
    advance()
    return Report("herd", [Row("herd", found["all"], note, flaw)], {"herd": found})
