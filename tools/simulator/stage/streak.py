"""Counts how often in a row a condition holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Streaks(Generic[T]):
    """Consecutive samples of many conditions.

    A condition that is not counted in a sample starts again at 0.
    """

    def __init__(self) -> None:
        self._before: Counter[T] = Counter()
        self._now: Counter[T] = Counter()

    def begin(self) -> None:
        self._before, self._now = self._now, Counter()

    def count(self, what: T) -> int:
        """Count the condition in this sample, and return the number of samples in a row."""
        self._now[what] = self._before[what] + 1
        return self._now[what]
