"""Random work on services: servers, groups and requests, decided before the run begins."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tools.simulator.nemesis import WARM_UP
from tools.simulator.script import Script
from tools.simulator.steps import Step
from tools.simulator.workload import FIRST

ADDRESSES = ("calc/add", "calc/mul", "print", "nobody/here")
SERVED = ADDRESSES[:3]
PATTERNS = ("a/#", "+", "c/d/e")
CREDITS = (1, 2, 8, 64)
TAKES = (0.0, 0.0, 0.02, 0.2, 0.5, 2.0)  # s to handle one request


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield all work on services in a scenario."""
    early = [node for node in script.nodes if node not in script.late]
    yield from _served(script, dice)
    yield from _grouped(script, dice)
    if dice.random() < 0.6:
        yield from _killed(script, dice)
    askers = {f"ask-{i}": dice.choice(early) for i in range(dice.randint(2, 4))}
    for name, node in askers.items():
        yield Step(0.0, "client", (name, node))
        yield from _moved(script, dice, name, asks=True)
        yield Step(dice.uniform(FIRST, script.seconds / 2), "look at", (name, dice.choice(SERVED)))
    yield from _asked(script, dice, list(askers))


def _served(script: Script, dice: Random) -> Iterator[Step]:
    for address in SERVED:
        for i in range(dice.choice([1, 2, 3, 3])):
            name = f"serve-{address}-{i}".replace("/", "-")
            begin = FIRST if i == 0 or dice.random() < 0.5 else dice.uniform(FIRST, script.seconds)
            yield from server(script, dice, name, address, begin, "local" if dice.random() < 0.2 else "")


def _grouped(script: Script, dice: Random) -> Iterator[Step]:
    if dice.random() < 0.3:
        return
    group = f"workers\n{dice.choice(script.cast.domains)}\n{dice.choice(PATTERNS)}"
    for i in range(dice.choice([1, 2, 3])):
        begin = FIRST if dice.random() < 0.5 else dice.uniform(FIRST, script.seconds)
        yield from server(script, dice, f"member-{i}", group, begin, "")


def server(script: Script, dice: Random, name: str, address: str, now: float, local: str) -> Iterator[Step]:
    """Yield a server that connects, serves, perhaps stops and serves again, moves, or dies and returns."""
    credit, seconds = dice.choice(CREDITS), dice.choice(TAKES)
    yield Step(0.0 if now == FIRST else now - 0.5, "client", (name, dice.choice(script.nodes)))
    yield Step(now, "serve", (name, f"{name}.0", address, credit, local, seconds))
    yield from _moved(script, dice, name, asks=False)
    life, i = 0, 0
    while (now := now + dice.expovariate(1 / 20)) < script.seconds:
        if dice.random() < 0.5:
            yield Step(now, "unserve", (name, f"{name}.{i}"))
        elif dice.random() < 0.5:
            yield Step(now, dice.choice(["die", "bye"]), (name,))
            life += 1
            name = f"{name.partition(':')[0]}:{life}"
            yield Step(now + 0.01, "client", (name, dice.choice(script.nodes)))
        else:
            continue
        now += dice.choice([0.02, 0.02, 3.0])
        i += 1
        credit, seconds = dice.choice(CREDITS), dice.choice(TAKES)
        yield Step(now, "serve", (name, f"{name}.{i}", address, credit, local, seconds))


def _killed(script: Script, dice: Random) -> Iterator[Step]:
    """Stop a node with its open requests, and start it again, often immediately; or only break a wire."""
    now = WARM_UP + dice.expovariate(1 / 10)
    while now < script.seconds:
        one, other = dice.sample(script.nodes, 2)
        if dice.random() < 0.6:
            yield Step(now, "kill", (one,))
            yield Step(now + dice.choice([0.01, 0.3, 2.0, 12.0]), "start", (one,))
        else:
            yield Step(now, "break", (one, other))
        now += dice.expovariate(1 / 10)


def _moved(script: Script, dice: Random, name: str, asks: bool) -> Iterator[Step]:
    """Break the client's connection, or move the client to another node, now and then."""
    if dice.random() < 0.5:
        return
    now, often = FIRST, dice.choice([3.0, 10.0, 20.0])
    while (now := now + dice.expovariate(1 / often)) < script.seconds:
        if dice.random() < (0.7 if asks else 0.5):
            yield Step(now, "break client", (name,))
        else:
            yield Step(now, "visit", (name, dice.choice(script.nodes)))


def _asked(script: Script, dice: Random, askers: list[str]) -> Iterator[Step]:
    now, pause = FIRST + 1.0, dice.choice([0.2, 0.5, 2.0])
    while now < script.seconds:
        for _ in range(dice.choice([1, 3, 10])):
            kind = dice.choice(["request", "request", "request", "tell", "tell", "gather"])
            count = 1 if kind == "gather" else dice.choice([1, 1, 1, 1, 3, 12])
            seconds = dice.choice([0.3, 2.0, 5.0, 20.0])
            if kind == "tell" and dice.random() < 0.7:
                seconds = 0.0
            address = dice.choice(ADDRESSES + SERVED * 3)
            local = "local" if dice.random() < 0.1 else ""
            yield Step(now, kind, (dice.choice(askers), address, count, seconds, local))
            now += dice.expovariate(10.0)
        now += dice.expovariate(1 / pause)
