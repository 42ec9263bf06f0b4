"""Random work with maps, counters, tallies and locks, decided before the run begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from tools.simulator.nemesis import WARM_UP
from tools.simulator.script import Script
from tools.simulator.steps import Step
from tools.simulator.workload import FIRST

MOST = 12  # operations on one key, so that every order of them can be tried
MAPS, GROUP, TALLIES = ("prices", "stock"), "shop", ("clicks", "views")
LOCKS = ("nightly", "daily", "hourly")
AMOUNTS = (1, 1, 7, 50, -5)
LEASES = (1.0, 2.0, 5.0, 30.0)
WAITS = (-1.0, -1.0, 0.0, 3.0)  # s; below 0: without limit
WORDS = ("put", "put", "put_if", "put_if", "get", "get", "remove")
LONG = (0.5, 3.0, 9.0, 15.0, 30.0)  # s that a fault lasts

Fault = Callable[[Random, Script, float, str], Iterator[Step]]


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield all work with shared data, the moves of its homes, and the faults that hit these."""
    sharers = [f"share-{node}-{i}" for node in script.nodes for i in range(dice.choice([1, 1, 2]))]
    for name in sharers:
        yield Step(0.0, "client", (name, name.split("-")[1]))
    for name in MAPS[: dice.choice([1, 2])]:
        yield from _keys(script, dice, name, sharers, _map_used)
    yield from _keys(script, dice, GROUP, sharers, _counter_used)
    yield from _tallied(script, dice, sharers)
    yield from _locked(script, dice, sharers)
    yield from _disturbed(script, dice, sharers)


# --- work ---------------------------------------------------------------------------------------------------


def _keys(
    script: Script,
    dice: Random,
    space: str,
    sharers: list[str],
    used: Callable[[Random, str, str, str, float], Step],
) -> Iterator[Step]:
    """Yield operations on keys, one key after the other and some beside each other."""
    now, often, number = FIRST + 2.0, dice.choice([4.0, 8.0, 15.0]), 0
    while now < script.seconds:
        at, pause = now, dice.choice([0.005, 0.1, 1.0, 4.0])
        few = dice.sample(sharers, min(len(sharers), dice.choice([1, 2, 3])))
        for _ in range(MOST):
            yield used(dice, dice.choice(few), space, f"key-{number}", at)
            at += dice.expovariate(1 / pause)
        now += dice.expovariate(1 / often)
        number += 1


def _map_used(dice: Random, name: str, space: str, key: str, at: float) -> Step:
    word, _, wants = dice.choice(WORDS).partition("_")
    if word == "remove":
        wants = dice.choice(["", "if"])
    return Step(at, "use map", (name, space, key, word, wants))


def _counter_used(dice: Random, name: str, space: str, key: str, at: float) -> Step:
    word, amount = dice.choice(["add", "add", "value"]), dice.choice([1, 1, 10, -7])
    return Step(at, "use counter", (name, space, key, word, amount if word == "add" else 0))


def _tallied(script: Script, dice: Random, sharers: list[str]) -> Iterator[Step]:
    now, pause = FIRST + 2.0, dice.choice([0.2, 1.0, 5.0])
    while now < script.seconds:
        yield Step(
            now, "use tally", (dice.choice(sharers), dice.choice(TALLIES), "add", dice.choice(AMOUNTS))
        )
        now += dice.expovariate(1 / pause)


def _locked(script: Script, dice: Random, sharers: list[str]) -> Iterator[Step]:
    lease, names = dice.choice(LEASES), LOCKS[: dice.choice([1, 2, 3])]
    for sharer in sharers:
        now, pause = FIRST + 2.0 + dice.random(), dice.choice([0.5, 3.0, 10.0])
        while now < script.seconds:
            length = dice.choice([0.0, 0.1, 1.0, 1.5 * lease, 4 * lease])
            yield Step(now, "hold", (sharer, GROUP, dice.choice(names), lease, dice.choice(WAITS), length))
            now += dice.expovariate(1 / (pause + length))


# --- moves and faults ---------------------------------------------------------------------------------------


def _disturbed(script: Script, dice: Random, sharers: list[str]) -> Iterator[Step]:
    now, often = WARM_UP, dice.choice([2.0, 6.0, 15.0])
    while (now := now + dice.expovariate(1 / often)) < script.seconds:
        yield from dice.choice(FAULTS)(dice, script, now, dice.choice(sharers))


def _space(dice: Random) -> str:
    return dice.choice([f"map/{MAPS[0]}", f"map/{MAPS[1]}", f"counter/{GROUP}", *[f"lock/{GROUP}"] * 2])


def moved(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    yield Step(now, "move space", (name, _space(dice), dice.choice(script.nodes), ""))


def killed(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    yield Step(now, "kill home", (_space(dice), dice.choice(LONG)))


def cut_off(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    yield Step(now, "cut home", (_space(dice), dice.choice(LONG)))


def forced(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    """Kill or cut off a home, and move its space by force, most often while it is away."""
    space = _space(dice)
    yield Step(now, dice.choice(["kill home", "cut home"]), (space, dice.choice([3.0, 15.0, 20.0])))
    after, to = now + dice.choice([1.0, 11.0, 12.0, 14.0]), dice.choice(script.nodes)
    yield Step(after, "move space", (name, space, to, "force"))


def moved_and_killed(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    """Kill a home while its space moves, or after that."""
    space = _space(dice)
    yield Step(now, "move space", (name, space, dice.choice(script.nodes), ""))
    yield Step(now + dice.choice([0.005, 0.02, 0.1, 1.0]), "kill home", (space, dice.choice(LONG)))


def slept(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    yield Step(now, "nap", (name, dice.choice(LONG)))


def roamed(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    yield Step(now, "roam", (name, dice.choice(script.nodes), "", 0.0, 0.0))


def died(dice: Random, script: Script, now: float, name: str) -> Iterator[Step]:
    yield Step(now, "die sharing", (name, dice.choice([0.1, 3.0])))


FAULTS: tuple[Fault, ...] = (
    moved, moved, killed, cut_off, forced, moved_and_killed, slept, roamed, roamed, died,
)  # fmt: skip
