"""Random changes of the rules that all nodes share, and forged lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from tools.simulator.casts import NAMES, RUGBY, STOCK, TOPICS, Cast
from tools.simulator.nemesis import WARM_UP
from tools.simulator.script import Script
from tools.simulator.steps import Step

SIZES = (3, 4, 5, 5)  # of a mesh
KEY = TOPICS[0]  # has a master of its own sometimes
ANEW = 3.0  # s until all nodes have read their files
LAST = 3.0  # s at the end without changes
MOST = 7  # as mesh.kernel.rules.ruling.BEFORE remembers per minute


def drawn(dice: Random) -> Cast:
    """Draw a mesh whose files are empty at first.

    The first three nodes may be masters; clients publish at the others.
    """
    finds_by = "mdns" if dice.random() < 0.3 else "seeds"
    return Cast("shared", NAMES[: dice.choice(SIZES)], (RUGBY, STOCK), finds_by)


# --- changes --------------------------------------------------------------------------------------------


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield changes of the rules, and forged lists."""
    now, pace, number = WARM_UP + dice.expovariate(1.0), dice.choice([1.0, 4.0, 8.0]), 0
    while now < script.seconds - LAST and number < MOST:
        kind = dice.random()
        if kind < 0.3:
            liar, to = dice.sample(script.nodes, 2)
            what = dice.choice(["mine", "unsigned", "older", "younger"])
            yield Step(now, "forge rules", (liar, to, what, dice.randint(0, number)))
        else:
            number += 1
            yield from _changed(script, dice, now, number, by_all=kind < 0.9)
        now += 0.5 + dice.expovariate(1 / pace)


def _changed(script: Script, dice: Random, now: float, number: int, by_all: bool) -> Iterator[Step]:
    """Change the shared rules, or the file of each node.

    `number` says which version of a file is later.
    """
    masters = script.nodes[:3]
    if by_all:
        yield Step(now, "set rules", (dice.choice(script.nodes), _words(masters, dice)))
        return
    words = f"{dice.choice(masters)}={STOCK}" if dice.random() < 0.8 else ""
    for node in script.nodes:
        yield Step(now + dice.uniform(0.0, ANEW), "reload", (node, words, number))


def _words(masters: Sequence[str], dice: Random) -> str:
    """Return the master of a domain as text, sometimes also one of a key, or no rule."""
    if dice.random() < 0.1:
        return ""
    domain, key = dice.sample(masters, 2)
    return f"{domain}={RUGBY}" + (f" {key}:{KEY}" if dice.random() < 0.5 else "")
