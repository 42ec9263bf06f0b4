"""Which stories belong to the quick part of the tests, and which only to all of them?"""

from collections.abc import Iterable
from typing import Any

import pytest

QUICK = 1


def stories(seeds: Iterable[object], quick: int = QUICK) -> list[Any]:
    """The first ones as they are; the others marked `slow`, as many of them take long."""
    marks = pytest.mark.slow
    return [seed if n < quick else pytest.param(seed, marks=marks) for n, seed in enumerate(seeds)]
