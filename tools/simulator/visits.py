"""Clients that know several nodes and move between them, decided before the run begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from tools.simulator.casts import TOPICS
from tools.simulator.nemesis import WARM_UP
from tools.simulator.script import Script
from tools.simulator.services import server
from tools.simulator.steps import Step
from tools.simulator.workload import FIRST, PATTERNS

ADDRESS = "calc/roaming"
LINKED = ("plain", "direct")  # casts whose nodes are all linked, as requests are not relayed
BACK = (0.05, 1.0, 5.0, 20.0, 40.0)  # s until a node is back
REACHED = (0.5, 3.0, 8.0, 20.0)  # s until a client reaches its node again
SOON = (0.0, 0.001, 0.01, 0.1, 1.0, 4.0)  # s after an arrival
AGAIN = (0.1, 1.0, 2.5, 6.0)  # s between two moves

Fault = Callable[[Random, Script, float, str], Iterator[Step]]


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield the work of clients that move, and the faults that let them move."""
    roamers = [f"roam-{i}" for i in range(dice.randint(1, 4))]
    yield from work(script, dice, roamers)
    yield from moved(script, dice, roamers)


def work(script: Script, dice: Random, roamers: list[str]) -> Iterator[Step]:
    """Yield the work of clients that move: they subscribe, publish, serve and request."""
    early = [node for node in script.nodes if node not in script.late]
    for name in roamers:
        yield Step(0.0, "client", (name, dice.choice(early)))
        for i in range(dice.choice([1, 1, 2])):
            yield _listen(dice, script, FIRST, name, f"{name}.{i}")
    if dice.random() < 0.4 and script.cast.rules in LINKED:
        yield from _served(script, dice, roamers)
    yield from _published(script, dice, roamers)


def _listen(dice: Random, script: Script, now: float, name: str, sub: str) -> Step:
    rate = dice.choice([-1.0, -1.0, 20.0])
    domain, initial = dice.choice(script.cast.domains), dice.choice(["initial", ""])
    return Step(now, "listen", (name, sub, dice.choice(PATTERNS), domain, initial, rate))


def _served(script: Script, dice: Random, roamers: list[str]) -> Iterator[Step]:
    yield from server(script, dice, "serve-fixed", ADDRESS, FIRST, "")
    if dice.random() < 0.5:
        yield Step(FIRST, "serve", (roamers[0], f"{roamers[0]}.s", ADDRESS, 8, "", dice.choice([0.0, 0.3])))
    now = FIRST + 1.0
    while (now := now + dice.expovariate(2.0)) < script.seconds:
        kind = dice.choice(["request", "request", "tell"])
        yield Step(now, kind, (dice.choice(roamers), ADDRESS, 1, dice.choice([2.0, 20.0]), ""))


def _published(script: Script, dice: Random, roamers: list[str]) -> Iterator[Step]:
    now = FIRST + 3.0
    while now < script.seconds:
        for _ in range(dice.choice([1, 3, 10])):
            keys = " ".join(dice.choice(TOPICS) for _ in range(dice.choice([1, 1, 3])))
            flag = "persistent" if dice.random() < 0.8 else "transient"
            yield Step(
                now, "publish", (dice.choice(roamers), keys, flag, dice.choice(script.cast.domains), 10)
            )
            now += dice.expovariate(20.0)
        now += dice.expovariate(1.0)


def moved(script: Script, dice: Random, roamers: list[str]) -> Iterator[Step]:
    """Yield the faults that move clients."""
    now, often = WARM_UP, dice.choice([3.0, 8.0, 20.0])
    while (now := now + dice.expovariate(1 / often)) < script.seconds:
        yield from dice.choice(FAULTS)(dice, script, now, dice.choice(roamers))


def forged(script: Script, dice: Random) -> Iterator[Step]:
    """Yield certificates that a node invents, by which the session of a client would be at that node."""
    now = WARM_UP
    while (now := now + dice.expovariate(0.1)) < script.seconds:
        forger, to = dice.sample(script.nodes, 2)
        yield Step(now, "forge visit", (forger, to, f"roam-{dice.randint(0, 1)}"))


def killed(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    yield Step(now, "kill node", (name, dice.choice(BACK)))


def cut_off(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    yield Step(now, "cut client", (name, dice.choice(REACHED)))


def sent(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    yield Step(now, "roam", (name, dice.choice(script.nodes), "", 0.0, 0.0))


def sent_twice(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    for at, node in zip((now, now + dice.choice(AGAIN)), dice.sample(script.nodes, 2), strict=True):
        yield Step(at, "roam", (name, node, "", 0.0, 0.0))


def sent_to_its_death(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    """Kill the visited node soon after the client has arrived."""
    yield Step(now, "roam", (name, dice.choice(script.nodes), "kill", dice.choice(SOON), dice.choice(BACK)))


def sent_and_cut_off(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    """Cut the visited node off from another one, so that it can neither resume nor release there."""
    one, other = dice.sample(script.nodes, 2)
    yield Step(now, "cut", (one, other))
    yield Step(now + 0.1, "roam", (name, one, "", 0.0, 0.0))
    yield Step(now + dice.choice((2.0, 8.0, 25.0)), "mend", (one, other))


FAULTS: tuple[Fault, ...] = (killed, cut_off, sent, sent_twice, sent_to_its_death, sent_and_cut_off)
