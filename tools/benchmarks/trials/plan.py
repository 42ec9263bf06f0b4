"""Which node is killed when, and for how long? Drawn from a seed, so that it can be drawn again."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

BETWEEN = (0.2, 2.5)  # s from one kill to the next: some nodes die while others are dead, or just back
DOWN = (0.0, 2.0)  # s


@dataclass(frozen=True, slots=True)
class Kill:
    """kill -9 of `node`, `after` seconds from the kill before; `down` seconds later it starts again."""

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
    """So many kills, the same for the same seed; who stands among `nodes` twice dies twice as often."""
    chance = random.Random(seed)
    return [Kill(chance.uniform(*between), chance.choice(nodes), chance.uniform(*down)) for _ in range(count)]
