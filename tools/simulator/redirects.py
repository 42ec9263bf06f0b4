"""Nodes with few connections for clients, decided before the run begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from tools.simulator.script import Script
from tools.simulator.steps import Step
from tools.simulator.visits import moved, work
from tools.simulator.world.identity import address, local_address

STAY = 2  # clients of the end at each node: see stage/ending.py


def settings_of(script: Script, steps: Sequence[Step]) -> dict[str, dict[str, Any]]:
    """Return the limits of the nodes, which have room for all clients together."""
    dice = Random(f"limits {script.profile} {script.seed}")
    names = {str(step.args[0]).partition(":")[0] for step in steps if step.kind == "client"}
    share = -(-len(names | set(script.clients)) // len(script.nodes)) + STAY
    own: dict[str, dict[str, Any]] = {}
    for number, node in enumerate(script.nodes, 1):
        most = share + dice.choice([0, 0, 1, 3])
        end = dice.choice([local_address(node, number), address(number)])
        limits = {end: dice.randint(1, most)} if dice.random() < 0.4 else {}
        own[node] = {"max_connections": most, "address_connections": limits}
    return own


def planned(script: Script, dice: Random) -> Iterator[Step]:
    """Yield the work of clients that begin at one node, and move when nodes end or are full."""
    roamers = [f"roam-{i}" for i in range(dice.randint(2, 6))]
    crowded = dice.choice([node for node in script.nodes if node not in script.late])
    for name in roamers:
        yield Step(0.0, "client", (name, crowded))
    yield from work(script, dice, roamers)
    yield from moved(script, dice, roamers)
