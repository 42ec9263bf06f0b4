"""Drains of nodes with their clients, decided before the run begins."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tools.simulator.nemesis import WARM_UP
from tools.simulator.queues import put_by, taken_by
from tools.simulator.script import Script
from tools.simulator.steps import Step
from tools.simulator.visits import work
from tools.simulator.workload import FIRST

QUEUE = "jobs"
FOREVER = 1000.0  # s: the drain is not canceled
LASTS = (0.3, 2.0, 6.0, 15.0, FOREVER, FOREVER, FOREVER)  # s until a drain is canceled
BACK = (0.05, 1.0, 5.0, 20.0)  # s until a stopped node is back
OFTEN = (6.0, 12.0, 25.0)  # s between two drains
END = 1.0  # s before the end, when all drains are canceled


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield drains under load: clients that publish, subscribe, request, put and consume."""
    yield from work(script, dice, [f"roam-{i}" for i in range(dice.randint(1, 4))])
    if dice.random() < 0.5:
        yield from _queued(script, dice)
    now, often = WARM_UP, dice.choice(OFTEN)
    while (now := now + dice.expovariate(1 / often)) < script.seconds - END:
        yield from _drained(script, dice, now)
    for node in script.nodes:
        yield Step(script.seconds - END, "end drain", (node,))


def _queued(script: Script, dice: Random) -> Iterator[Step]:
    terms = f"distribution=local redistribution={dice.choice(['1.0', '0.2'])} when_full=block"
    for node in script.nodes:
        yield Step(0.0, "client", (f"boss-{node}", node))
        yield Step(0.5, "declare", (f"boss-{node}", QUEUE, terms))
        for i in range(dice.choice([0, 1, 1, 2])):
            yield from taken_by(script, dice, f"take-{node}-{i}", node, QUEUE, FIRST, "")
        if dice.random() < 0.7:
            yield from put_by(script, dice, f"put-{node}-0", node, (QUEUE,))


def _drained(script: Script, dice: Random, now: float) -> Iterator[Step]:
    """Drain a node and stop it once it is empty, sometimes while no other node runs."""
    node = dice.choice(script.nodes)
    if dice.random() < 0.1:
        for other in script.nodes:
            if other != node:
                yield Step(now - 0.5, "kill", (other,))
                yield Step(now + dice.choice([1.0, 30.0]), "start", (other,))
    yield Step(now, "drain node", (node, dice.choice(BACK)))
    lasts = dice.choice(LASTS)
    if lasts < FOREVER:
        yield Step(now + lasts, "end drain", (node,))
