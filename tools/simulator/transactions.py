"""Random transactions, decided before the run begins."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tools.simulator.casts import TOPICS
from tools.simulator.queues import QUEUES, declared, put_by, taken_by
from tools.simulator.script import Script
from tools.simulator.steps import Step
from tools.simulator.workload import FIRST

CREDITS = (1, 3, 10, 100)
LEASES = (0, 0, 0, 4000)  # ms
SETTLES = (0, 1, 1, 3, 10)
WORDS = "aaaand"  # letters for what happens to a delivery: see taker.py
SOON = (0.001, 0.005, 0.02, 0.1)  # s until a fault hits a transaction


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield all work with transactions: clients that consume, process and produce, and others beside them."""
    yield from declared(script, dice)
    for node in script.nodes:
        yield from put_by(script, dice, f"put-{node}-0", node, QUEUES[:2])
        for i in range(dice.choice([1, 1, 2])):
            yield from _worked_by(script, dice, f"work-{node}-{i}", node)
        if dice.random() < 0.5:
            yield from taken_by(script, dice, f"take-{node}-0", node, QUEUES[1], FIRST, "")


def _worked_by(script: Script, dice: Random, name: str, node: str) -> Iterator[Step]:
    """Yield a client that consumes and commits, and sometimes dies and returns."""
    life, now, pause = 0, FIRST + 1.0, dice.choice([0.3, 1.0, 4.0])
    flags = dice.choice(["p", "p", "p", ""])
    yield from _begun(dice, name, node, 0.0)
    while now < script.seconds:
        for _ in range(dice.choice([1, 1, 2, 5])):
            yield from _committed(script, dice, name, now, flags)
        yield from _disturbed(dice, name, node, now)
        now += dice.expovariate(1 / pause)
        if dice.random() < 0.06:
            yield Step(now, dice.choice(["die", "die", "bye"]), (name,))
            life += 1
            name = f"{name.partition(':')[0]}:{life}"
            yield from _begun(dice, name, node, now + dice.choice([0.01, 2.0]))
            now += 3.0


def _begun(dice: Random, name: str, node: str, now: float) -> Iterator[Step]:
    wanted = dice.choice(CREDITS), "", dice.choice(LEASES), 0.0, dice.choice([".", ".", ".....a"])
    yield Step(now, "client", (name, node))
    yield Step(max(FIRST, now + 0.1), "take", (name, f"{name}.0", QUEUES[0], *wanted))


def _committed(script: Script, dice: Random, name: str, now: float, flags: str) -> Iterator[Step]:
    """Yield a transaction, perhaps between plain messages of the same client."""
    domain = dice.choice(script.cast.domains)
    puts = " ".join(dice.choice(QUEUES[:2]) for _ in range(dice.choice([0, 1, 1, 4])))
    keys = " ".join(dice.choice(TOPICS) for _ in range(dice.choice([0, 0, 1, 3])))
    is_beside = dice.random() < 0.3
    if is_beside:
        yield Step(now, "publish", (name, dice.choice(TOPICS), "persistent", domain, 10))
    yield Step(now, "commit", (name, dice.choice(SETTLES), dice.choice(WORDS), puts, keys, domain, flags))
    if is_beside:
        yield Step(now, "put", (name, QUEUES[1], 1, "p", 5, 0, "", "x", 0.0))


def _disturbed(dice: Random, name: str, node: str, now: float) -> Iterator[Step]:
    after = now + dice.choice(SOON)
    match dice.choice(["", "", "", "", "line", "line", "kill", "power"]):
        case "line":
            yield Step(after, "break client", (name,))
        case "kill":
            yield Step(after, "kill", (node,))
            yield Step(after + dice.choice([0.05, 1.0, 5.0]), "start", (node,))
        case "power":
            yield Step(after, "power off", (node,))
            yield Step(after + dice.choice([0.05, 1.0, 5.0]), "start", (node,))
