"""Random workload of a mesh, decided before the run begins."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tools.simulator.casts import RUGBY, TOPICS
from tools.simulator.profiles import Profile
from tools.simulator.script import Script
from tools.simulator.steps import Step

PATTERNS = ("#", "a/#", "+", "a/+", "a", "b")
FIRST = 2.0  # s until all nodes should have met
NOBODY = "/node/nowhere/client/nobody/session/1"


def planned(script: Script, profile: Profile, dice: Random) -> Iterator[Step]:
    """Yield all work of clients in a scenario."""
    early = list(script.clients.values())
    readers = [(f"sub-{i}", dice.choice(early)) for i in range(dice.randint(2, 5))]
    for name, node in readers:
        yield Step(0.0, "client", (name, node))
        yield _listen(dice, script, profile, FIRST, name, f"{name}.0")
    if script.cast.rules != "plain":
        for node in early:
            yield Step(0.0, "client", (f"reader-{node}", node))
            yield Step(FIRST, "open inbox", (f"reader-{node}",))
    yield from _published(script, profile, dice)
    yield from _comings(script, profile, dice, readers)
    yield from _asked(script, dice, readers)


def _published(script: Script, profile: Profile, dice: Random) -> Iterator[Step]:
    now, persistent = FIRST + 3.0, dice.choice([0.3, 0.6, 0.9])
    while now < script.seconds - profile.rest:
        for _ in range(dice.choice([1, 3, 10, 30])):
            client = dice.choice(list(script.clients))
            is_letter = script.cast.rules != "plain" and dice.random() < 0.1
            flag = "persistent" if dice.random() < persistent else "transient"
            if is_letter:
                yield _letter(dice, script, now, client, flag)
                continue
            keys = " ".join(dice.choice(TOPICS) for _ in range(dice.choice([1, 1, 1, 3, 10])))
            size = dice.choice([10, 10, 10, 10, 200])
            yield Step(now, "publish", (client, keys, flag, dice.choice(script.cast.domains), size))
            now += dice.expovariate(2 * profile.rate)
        now += dice.expovariate(profile.rate / 10)


def _letter(dice: Random, script: Script, now: float, client: str, flag: str) -> Step:
    node = dice.choice(script.nodes)
    to = dice.choice(
        [f"/node/{node}/client/reader-{node}/session/1"] * 6
        + [f"/node/{node}/client/later/session/1", f"/node/{node}/client/later", NOBODY]
    )
    force = "force" if to != NOBODY and dice.random() < 0.8 else ""
    return Step(now, "send", (client, to, flag, force, RUGBY))


def _listen(dice: Random, script: Script, profile: Profile, now: float, name: str, sub: str) -> Step:
    rates = [-1.0, -1.0, -1.0, 200.0, 20.0]
    if profile.is_slow or profile.is_paced:
        rates = [0.0, 0.0, 5.0, 20.0] if profile.is_slow else [0.0, 5.0, 5.0, 20.0]
    rate = dice.choice([*rates, -1.0])  # -1: at once
    domain, initial = dice.choice(script.cast.domains), dice.choice(["initial", "initial", ""])
    return Step(now, "listen", (name, sub, dice.choice(PATTERNS), domain, initial, rate))


def _comings(
    script: Script, profile: Profile, dice: Random, readers: list[tuple[str, str]]
) -> Iterator[Step]:
    """Yield late subscribers, leaving subscribers, and publishers that change their node."""
    for i in range(dice.randint(0, 6)):
        now, name = dice.uniform(FIRST + 5, script.seconds), f"late-{i}"
        yield Step(now, "client", (name, dice.choice(script.nodes)))
        yield _listen(dice, script, profile, now + 0.01, name, f"{name}.0")
        if dice.random() < 0.4:
            yield Step(now + dice.expovariate(1 / 30), dice.choice(["die", "bye"]), (name,))
    for name, _ in readers:
        if dice.random() < 0.4:
            now = dice.uniform(FIRST + 5, script.seconds)
            yield Step(now, "unlisten", (name, f"{name}.0"))
            yield _listen(dice, script, profile, now + dice.expovariate(1 / 5), name, f"{name}.1")
        if dice.random() < 0.3:
            yield Step(dice.uniform(FIRST + 5, script.seconds), "rate", (name, f"{name}.0", -1.0))
    if script.cast.rules == "chain" and dice.random() < 0.3:
        client = dice.choice(list(script.clients))
        yield Step(dice.uniform(20, script.seconds), "move", (client, dice.choice(script.nodes)))


def _asked(script: Script, dice: Random, readers: list[tuple[str, str]]) -> Iterator[Step]:
    erases = dice.random() < 0.3
    now = FIRST + 5.0
    while now < script.seconds:
        name = dice.choice(readers)[0]
        key, domain = dice.choice(TOPICS), dice.choice(script.cast.domains)
        if erases and dice.random() < 0.2:
            yield Step(now, "erase", (name, key, domain))
        else:
            yield Step(now, "get", (name, key, domain, dice.choice(["", "fresh"])))
        now += dice.expovariate(1 / 10)
