"""How many a second? A rate that forgets what was long ago."""

from __future__ import annotations

from math import exp

OVER = 10.0  # s, as a rule: what was so long ago counts e times less than what is now


class RateMeter:
    """The rate of something that is counted. After `over` s of a steady one it tells 63 %, after three times
    as long 95 %.
    """

    __slots__ = ("_at", "_over", "_rate")

    def __init__(self, over: float = OVER) -> None:
        self._over = over
        self._rate = 0.0  # a second, at
        self._at = 0.0  # s

    def add(self, n: int, now: float) -> None:
        """So many more at `now` (s). A clock that goes back changes nothing of what was counted."""
        self._rate = self.value(now) + n / self._over
        self._at = max(self._at, now)

    def value(self, now: float) -> float:
        """So many a second at `now` (s)."""
        return self._rate * exp(-max(0.0, now - self._at) / self._over)
