"""Seeds of simulation runs: few are in the quick set."""

from collections.abc import Iterable
from typing import Any

import pytest

QUICK = 1


def scenarios(seeds: Iterable[object], quick: int = QUICK) -> list[Any]:
    """Return the seeds. All but the first `quick` ones are marked `slow`, because many runs take long."""
    marks = pytest.mark.slow
    return [seed if n < quick else pytest.param(seed, marks=marks) for n, seed in enumerate(seeds)]
