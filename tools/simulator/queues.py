"""Random work on queues: puts and consumers, decided before the run begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from tools.simulator.nemesis import WARM_UP
from tools.simulator.script import Script
from tools.simulator.steps import Step
from tools.simulator.workload import FIRST

QUEUES = ("jobs", "mail", "failed")  # the last one has dead letters only
SELDOM = "seldom"  # a queue with a consumer now and then
HABITS = ("a", "a", "aaaan", "aaad", "aaar", "aae", "aa.", "aandre", "n")
SELECTORS = ("", "", "", "kind == 'x'", "kind != 'x'", "priority > 5")
LEASES = (0, 0, 0, 1000, 4000)  # ms
CREDITS = (1, 1, 3, 10, 100)
TAKES = (0.0, 0.0, 0.05, 0.5, 3.0)  # s to process one message
GROUPS = ("", "", "g", "h")


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield all work on queues in a scenario."""
    yield from declared(script, dice)
    uses_selectors = dice.random() < 0.4
    for node in script.nodes:
        for queue in QUEUES[:2]:
            for i in range(dice.choice([1, 1, 2, 3])):
                begin = FIRST if i == 0 and dice.random() < 0.5 else dice.uniform(FIRST, script.seconds)
                selector = dice.choice(SELECTORS) if uses_selectors else ""
                yield from taken_by(script, dice, f"take-{queue}-{node}-{i}", node, queue, begin, selector)
    for node in script.nodes:
        for i in range(dice.choice([1, 2])):
            yield from put_by(script, dice, f"put-{node}-{i}", node, QUEUES[:2])
        yield from _looked_at(script, dice, node)
    if dice.random() < 0.7:
        yield from _caught(script, dice)
    own = Random(f"what waits long {script.profile} {script.seed}")
    if own.random() < 0.4:
        yield from _seldom(script, own)


def declared(script: Script, dice: Random) -> Iterator[Step]:
    for queue in QUEUES:
        words = [f"scope={dice.choice(['mesh', 'mesh', 'node'])}"]
        if queue != QUEUES[-1]:
            words.append(f"dead_letter={dice.choice(['', 'queue/failed', 'queue/failed', 'failed/jobs'])}")
            words.append(f"max_attempts={dice.choice([3, 8])}")
            words.append(f"when_full={dice.choice(['block', 'reject'])}")
            words += dice.choice([[], [], ["max_count=20"]]) + dice.choice([[], [], ["expiry=15.0"]])
        for node in script.nodes:
            yield Step(0.0, "client", (f"boss-{node}", node))
            yield Step(dice.choice([0.5, FIRST]), "declare", (f"boss-{node}", queue, " ".join(words)))


def taken_by(
    script: Script, dice: Random, name: str, node: str, queue: str, now: float, selector: str
) -> Iterator[Step]:
    """Yield a consumer that connects, consumes, perhaps stops and consumes again, or dies and returns."""
    yield Step(max(0.0, now - 0.5), "client", (name, node))
    life, i = 0, 0
    while now < script.seconds:
        wanted = (
            dice.choice(CREDITS),
            selector,
            dice.choice(LEASES),
            dice.choice(TAKES),
            dice.choice(HABITS),
        )
        yield Step(now, "take", (name, f"{name}.{i}", queue, *wanted))
        end = now + dice.expovariate(1 / 15)
        yield from _disturbed(script, dice, name, f"{name}.{i}", now, end)
        now = end
        if dice.random() < 0.4:
            yield Step(now, "untake", (name, f"{name}.{i}"))
        elif dice.random() < 0.6:
            yield Step(now, dice.choice(["die", "die", "bye"]), (name,))
            life += 1
            name = f"{name.partition(':')[0]}:{life}"
            yield Step(now + 0.01, "client", (name, node))
        else:
            yield Step(now, "untake", (name, f"{name}.{i}"))
        now += dice.choice([0.02, 0.5, 8.0])
        i += 1


def _disturbed(script: Script, dice: Random, name: str, sub: str, now: float, end: float) -> Iterator[Step]:
    """Break the client's connection now and then, and send an ack that no real client would send."""
    if dice.random() < 0.5:
        return
    while (now := now + dice.expovariate(1 / 5)) < min(end, script.seconds):
        yield Step(now, "break client", (name,))
        if dice.random() < 0.4:
            yield Step(now + dice.choice([0.5, 1.5]), "ack an old epoch", (name, sub))


def put_by(script: Script, dice: Random, name: str, node: str, names: Sequence[str]) -> Iterator[Step]:
    """Yield puts in bursts, with pauses between the bursts."""
    yield Step(0.0, "client", (name, node))
    persistent, is_plain = dice.choice([0.5, 0.9, 1.0]), dice.random() < 0.4
    now, pause = FIRST + 0.5, dice.choice([0.5, 2.0, 5.0])
    while now < script.seconds:
        queue = dice.choice(names)
        flags = "p" if dice.random() < persistent else ""
        how = (5, 0, "") if is_plain or dice.random() < 0.6 else _how(dice)
        ttl = dice.choice([0.0] * 8 + [0.5, 6.0])
        n = dice.choice([1, 1, 3, 8])
        yield Step(now, "put", (name, queue, n, flags, *how, dice.choice("xy"), ttl))
        if dice.random() < 0.1:
            yield Step(now + dice.choice([0.001, 0.02]), "break client", (name,))
        now += dice.expovariate(1 / pause) if dice.random() < 0.5 else dice.choice([0.0, 0.01, 0.1])


def _how(dice: Random) -> tuple[int, int, str]:
    return dice.choice([5, 5, 0, 9]), dice.choice([0, 0, 300, 4000]), dice.choice(GROUPS)


def _looked_at(script: Script, dice: Random, node: str) -> Iterator[Step]:
    """Ask for figures, purge a queue, or claim messages that were never delivered."""
    boss, now = f"boss-{node}", FIRST + 3.0
    purges, claims = dice.random() < 0.2, dice.random() < 0.5
    while now < script.seconds:
        queue = dice.choice(QUEUES[:2])
        yield Step(now, "info", (boss, queue))
        if purges and dice.random() < 0.2:
            yield Step(now, "purge", (boss, queue))
        if claims and dice.random() < 0.4:
            yield Step(now, "claim", (boss, queue, f"put-{node}-0"))
        now += dice.expovariate(1 / 5)


def _caught(script: Script, dice: Random) -> Iterator[Step]:
    """Stop a node just after a consumer has begun or settled, and start it again."""
    now = WARM_UP + dice.expovariate(1 / 8)
    for i in range(100):
        if now >= script.seconds:
            break
        node, queue, name = dice.choice(script.nodes), dice.choice(QUEUES[:2]), f"caught-{i}"
        after = now + dice.choice([0.01, 0.03, 0.1, 0.5])
        wanted = (dice.choice(CREDITS), "", 0, dice.choice([0.0, 0.0, 0.5]), dice.choice(HABITS))
        yield Step(now - 1.0, "client", (name, node))
        yield Step(now - 0.01, "put", (f"put-{node}-0", queue, 3, "p", 5, 0, "", "x", 0.0))
        yield Step(now, "take", (name, f"{name}.0", queue, *wanted))
        yield Step(after, "kill", (node,))
        yield Step(after + dice.choice([0.01, 0.3, 2.0, 7.0]), "start", (node,))
        if dice.random() < 0.5:
            yield Step(after + dice.choice([1.0, 6.0]), "die", (name,))
        now += 1.0 + dice.expovariate(1 / 8)


def _seldom(script: Script, dice: Random) -> Iterator[Step]:
    """Let messages wait in a queue that seldom has a consumer.

    Then a consumer connects, and the node stops during the delivery. Or the clock is set back, the node
    restarts before the consumer connects, and more messages are put.
    """
    now = WARM_UP + dice.expovariate(1 / 4)
    node = dice.choice(script.nodes)
    yield Step(0.0, "client", (f"put-{SELDOM}", node))
    yield Step(FIRST, "declare", (f"boss-{node}", SELDOM, "scope=node"))
    for i in range(100):
        if now + 8.0 >= script.seconds:
            break
        name, put = f"{SELDOM}-{i}", Step(now, "put", (f"put-{SELDOM}", SELDOM, 3, "p", 5, 0, "", "x", 0.0))
        yield put
        if is_back := dice.random() < 0.5:
            yield Step(now + 0.5, "set clock", (node, -3600.0))
            yield Step(now + 1.0, "kill", (node,))
            yield Step(now + 1.3, "start", (node,))
            yield put._replace(at=now + 2.5)
            yield Step(now + 5.0, "set clock", (node, 0.0))
        yield Step(now + 3.0, "client", (name, node))
        yield Step(now + 4.0, "take", (name, f"{name}.0", SELDOM, dice.choice(CREDITS), "", 0, 0.0, "aa."))
        if not is_back:  # commits of the consumer and of the mark
            slow = dice.choice([0.02, 0.1, 0.3])
            after = now + 4.0 + slow * dice.uniform(1.1, 2.1)
            yield Step(now + 3.5, "disk", (node, slow, slow))
            yield Step(after, "power off", (node,))
            yield Step(after + 0.3, "start", (node,))
            yield Step(after + 0.3, "fair disk", (node,))
        yield Step(now + 7.0, "bye", (name,))
        now += 8.0 + dice.expovariate(1 / 4)
