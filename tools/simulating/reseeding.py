"""Which story finds a planted mistake, and is soon told? Writes its seed into the tables of mistakes.

    python -m tools.simulating.reseeding [NAME…]

Without a name all are looked at. A mend elsewhere changes the stories: then a test tells some in vain before
one that finds the mistake, or a long one where a short one would do.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from math import inf
from pathlib import Path

from tools.simulating.campaign import ALL
from tools.simulating.planted import BUGS, Bug
from tools.simulating.planted_search import is_found
from tools.simulating.story import told
from tools.simulating.writing import written

AMONG = 200  # seeds, of which the shortest stories are told, ...
TRIED = 10  # ... so many at most
TABLES = Path(__file__).parent.glob("planted*.py")


@cache
def length(profile: str, seed: int) -> float:
    """How long it takes to tell its story, about: what is done, and what nodes do by themselves meanwhile."""
    script = written(seed, ALL[profile])
    return len(script.steps) + script.seconds * len(script.nodes) / 5


@cache
def is_kept(profile: str, seed: int) -> bool:
    """Does its story keep every promise, with nothing planted?"""
    return not told(written(seed, ALL[profile])).violations


def candidates(bug: Bug) -> Iterator[int]:
    """Seeds of short stories, the shortest first; none that is as long as the one that is known."""
    for seed in sorted(range(AMONG), key=lambda seed: length(bug.profile, seed))[:TRIED]:
        if seed != bug.seed:
            yield seed


def best(bug: Bug) -> int | None:
    """A seed that is better than its own; None: there is none among those that were tried."""
    own = length(bug.profile, bug.seed) if is_found(bug, bug.seed) else inf
    for seed in candidates(bug):
        if length(bug.profile, seed) >= own:
            return None
        if is_found(bug, seed) and is_kept(bug.profile, seed):
            return seed
    return None


def reseeded(text: str, name: str, seed: int) -> str:
    """The table with that seed for the mistake of this name, if it is in there."""
    return re.sub(rf'("{re.escape(name)}": (?:Bug\(\s*"\w+",|\()\s*)\d+', rf"\g<1>{seed}", text)


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
