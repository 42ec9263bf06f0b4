"""Which random stories belong to the quick part of the tests, and which only to all of them?"""

from collections.abc import Iterable
from typing import Any

import pytest

QUICK = 1


def stories(seeds: Iterable[object]) -> list[Any]:
    """The first as it is; the others marked `whole`, as many of them take long."""
    marks = pytest.mark.whole
    return [seed if n < QUICK else pytest.param(seed, marks=marks) for n, seed in enumerate(seeds)]
