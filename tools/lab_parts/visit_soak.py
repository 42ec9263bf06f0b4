"""Clients of a killed or drained node go on at another one: how soon, and with all acknowledged messages?"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import mesh
from tools.lab_parts.visit_crowd import WORK, Member, VisitCrowd
from tools.running.nodes import Node, start_nodes
from tools.running.processes import Processes

NAMES = ("heron", "egret", "crane")
SETTLED = 5.0  # s before the first kill
GOAL = 5.0  # s until a client is served again, p99

Tell = Callable[[float, str], None]  # kills so far, and a description


@dataclass(frozen=True, slots=True)
class VisitPlan:
    """`kills` of a node, which is back after `back` s, with `clients` clients, drawn from `seed`.

    With `drains`, the nodes are drained and restarted one after the other instead.
    """

    kills: int
    clients: int
    back: float
    seed: int
    drains: bool = False


@dataclass(slots=True)
class VisitResult:
    """The seconds until clients of killed nodes were served again, and the anomalies by kind.

    For drained nodes `waits` has the longest pause of each client. `calm` and `meanwhile` have the seconds of
    the requests before the first restart, and of the others.
    """

    waits: list[float] = field(default_factory=list)
    calm: list[float] = field(default_factory=list)
    meanwhile: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)  # s, of the clients' event loop
    anomalies: dict[str, int] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    late: int = 0  # messages with that mark

    @property
    def is_clean(self) -> bool:
        return not any(self.anomalies.values())

    def percentile(self, share: float) -> float:
        return percentile(self.waits, share)

    @property
    def delay(self) -> float:
        """The delay of the clients' event loop in s, p99; each step of a visit may take so much longer."""
        return percentile(self.delays, 0.99)


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def longest_pause(served: list[float], began: float, ended: float) -> float:
    """Return the longest time between `began` and `ended` in which a client was not served."""
    times = [began, *(at for at in served if began < at < ended), ended]
    return max(later - earlier for earlier, later in pairwise(times))


def visits_soaked(plan: VisitPlan, tell: Tell) -> VisitResult:
    with Processes() as processes:
        nodes = start_nodes(processes, *NAMES)
        return asyncio.run(_soaked(plan, processes, nodes, tell))


async def _soaked(plan: VisitPlan, processes: Processes, nodes: list[Node], tell: Tell) -> VisitResult:
    place, chance, result = str(processes.place), random.Random(plan.seed), VisitResult()
    async with mesh.connect(NAMES[0], environ={"MESH_STATE_DIR": place}) as m:
        await m.queue(WORK).declare()
    crowd = VisitCrowd(place, processes.cluster, NAMES, plan.clients)
    async with crowd.at_work():
        await asyncio.sleep(SETTLED)
        calm = len(crowd.replies)
        for kill in range(plan.kills):
            if plan.drains:
                node = nodes[kill % len(nodes)]
                tell(kill, f"drain {node.name}")
                await _drain(node, crowd.members, result)
            else:
                used = [node for node in nodes if any(it.node == node.name for it in crowd.members)]
                node = chance.choice(used)
                tell(kill, f"kill {node.name}")
                await _kill(node, crowd.members, plan.back, result)
        tell(plan.kills, "the last messages")
    result.anomalies, result.errors = crowd.book.anomalies(crowd.subscribers), crowd.book.errors
    if plan.drains:
        result.anomalies["errors"] = result.errors.total()
    result.calm, result.meanwhile = crowd.replies[:calm], crowd.replies[calm:]
    result.delays, result.late = crowd.delays, crowd.book.late
    result.acknowledged = len(crowd.book.published) + len(crowd.book.put)
    return result


async def _kill(node: Node, members: list[Member], back: float, result: VisitResult) -> None:
    """Kill a node, start it again after `back` s, and measure when its clients are served again."""
    hit, began = [it for it in members if it.node == node.name], time.monotonic()
    await asyncio.to_thread(node.kill)
    await asyncio.sleep(back)
    for it in hit:
        again = next((at for at in it.served if at > began), began + back)
        result.waits.append(again - began)
    await asyncio.to_thread(node.start)
    await asyncio.sleep(SETTLED)


async def _drain(node: Node, members: list[Member], result: VisitResult) -> None:
    """Drain a node and start it again, and measure the longest pause of each of its clients."""
    hit, began = [it for it in members if it.node == node.name], time.monotonic()
    await asyncio.to_thread(node.drain)
    await asyncio.to_thread(node.start)
    await asyncio.sleep(SETTLED)
    result.waits += [longest_pause(it.served, began, time.monotonic()) for it in hit]
