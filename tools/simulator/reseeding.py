"""Finds short scenarios for the planted bugs, and writes their seeds into the tables of bugs.

    python -m tools.simulator.reseeding [NAME…]

Without a name all bugs are searched. A change elsewhere changes the scenario of a seed. Then a known seed may
no longer find its bug, or another seed may find it sooner.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from math import inf
from pathlib import Path

from tools.simulator.campaign import ALL
from tools.simulator.planted import BUGS, Bug
from tools.simulator.planted_search import broken_without, is_found
from tools.simulator.script import within
from tools.simulator.writing import written

AMONG = 200  # seeds, of which the shortest scenarios run, ...
TRIED = 10  # ... at most this many of them
TABLES = Path(__file__).parent.glob("planted*.py")


@cache
def length(profile: str, seed: int, seconds: float) -> float:
    """Return an estimate of the run time: the number of steps, and the periodic work of the nodes."""
    script = within(written(seed, ALL[profile]), seconds)
    return len(script.steps) + script.seconds * len(script.nodes) / 5


def candidates(bug: Bug) -> Iterator[int]:
    """Yield seeds of short scenarios, the shortest first, without the known one."""
    for seed in sorted(range(AMONG), key=lambda seed: length(bug.profile, seed, bug.seconds))[:TRIED]:
        if seed != bug.seed:
            yield seed


def best(bug: Bug) -> int | None:
    """Return the seed of the shortest candidate that finds the bug, or None if the known seed is as good.

    A known seed that does not find the bug is never as good. Without the bug, the candidate must keep every
    promise.
    """
    own = length(bug.profile, bug.seed, bug.seconds) if is_found(bug, bug.seed) else inf
    for seed in candidates(bug):
        if length(bug.profile, seed, bug.seconds) >= own:
            return None
        if is_found(bug, seed) and not broken_without(bug, seed):
            return seed
    return None


def reseeded(text: str, name: str, seed: int) -> str:
    """Return the table with `seed` for the bug `name`, if the table has it."""
    return re.sub(rf'("{re.escape(name)}": (?:Bug)?\(\s*(?:"\w+",\s*)?)\d+', rf"\g<1>{seed}", text)


def main(names: list[str]) -> None:
    tables = list(TABLES)
    for name in names or BUGS:
        seed = best(BUGS[name])
        print(f"{name}: {BUGS[name].seed} -> {seed}", flush=True)
        if seed is None:
            continue
        for table in tables:
            if (changed := reseeded(text := table.read_text(), name, seed)) != text:
                table.write_text(changed)


if __name__ == "__main__":
    main(sys.argv[1:])
