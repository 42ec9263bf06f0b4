"""Random work on durable subscriptions: declarations, and consumers at several nodes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from mesh.names import SUBS
from tools.simulator.casts import RUGBY
from tools.simulator.nemesis import WARM_UP
from tools.simulator.queues import taken_by
from tools.simulator.script import Script
from tools.simulator.steps import Step
from tools.simulator.workload import FIRST

NAMES = ("audit", "bill")
PATTERNS = ("#", "a/#", "+", "a")


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield all work on durable subscriptions in a scenario."""
    names = NAMES[: dice.choice([1, 1, 2])]
    domain = "" if script.cast.rules == "plain" else RUGBY
    for node in script.nodes:
        yield Step(0.0, "client", (f"boss-{node}", node))
    for name in names:
        pattern = dice.choice(PATTERNS)
        for node in dice.sample(script.nodes, dice.choice([1, 2])):
            yield Step(dice.choice([0.5, FIRST]), "keep", (f"boss-{node}", name, pattern, domain))
        for node in script.nodes:
            for i in range(dice.choice([0, 0, 1, 2])):
                begin = dice.uniform(FIRST, script.seconds)
                yield from taken_by(script, dice, f"take-{name}-{node}-{i}", node, SUBS + name, begin, "")
        if dice.random() < 0.2:
            yield from _ended(script, dice, name, pattern, domain)
    if dice.random() < 0.6:
        yield from _caught(script, dice, domain)


def _ended(script: Script, dice: Random, name: str, pattern: str, domain: str) -> Iterator[Step]:
    """Remove a durable subscription at all nodes, and declare it again."""
    now = dice.uniform(WARM_UP, script.seconds)
    yield Step(now, "keep no more", (f"boss-{dice.choice(script.nodes)}", name))
    back = now + dice.choice([0.1, 3.0])
    yield Step(back, "keep", (f"boss-{dice.choice(script.nodes)}", name, pattern, domain))


def _caught(script: Script, dice: Random, domain: str) -> Iterator[Step]:
    """Stop a node or break a wire just after a publish, when a master perhaps has the messages."""
    now = WARM_UP + dice.expovariate(1 / 6)
    for _ in range(100):
        if now >= script.seconds:
            break
        client, home = dice.choice(list(script.clients.items()))
        flag, after = dice.choice(["persistent", "transient"]), now + dice.choice([0.002, 0.01, 0.05, 0.3])
        yield Step(now, "publish", (client, "a b a/x", flag, domain, 10))
        if dice.random() < 0.6:
            victim = dice.choice([home, *script.nodes])
            yield Step(after, "kill", (victim,))
            yield Step(after + dice.choice([0.01, 0.3, 2.0, 7.0]), "start", (victim,))
        else:
            yield Step(after, "break", tuple(dice.sample(script.nodes, 2)))
        now += 1.0 + dice.expovariate(1 / 6)
