"""How often in a row is something so?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Streaks(Generic[T]):
    """Samples in a row, of many things. What a sample says nothing of begins anew."""

    def __init__(self) -> None:
        self._before: Counter[T] = Counter()
        self._now: Counter[T] = Counter()

    def begin(self) -> None:
        """A sample begins."""
        self._before, self._now = self._now, Counter()

    def count(self, what: T) -> int:
        """It is so in this sample: returns in how many by now."""
        self._now[what] = self._before[what] + 1
        return self._now[what]
