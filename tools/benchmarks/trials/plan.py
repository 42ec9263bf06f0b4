"""The nodes to kill, when and for how long, reproducible from a seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

BETWEEN = (0.2, 2.5)  # s between kills: some overlap with dead nodes
DOWN = (0.0, 2.0)  # s


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill -9 of `node`, `after` seconds from the kill before; the node restarts `down` seconds later."""

    after: float
    node: str
    down: float


def draw(
    count: int,
    seed: int,
    nodes: Sequence[str],
    between: tuple[float, float] = BETWEEN,
    down: tuple[float, float] = DOWN,
) -> list[Kill]:
    """Draw `count` kills from the seed.

    A node that `nodes` lists twice dies twice as often.
    """
    chance = random.Random(seed)
    return [Kill(chance.uniform(*between), chance.choice(nodes), chance.uniform(*down)) for _ in range(count)]
