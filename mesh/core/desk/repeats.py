"""Was that told before? What somebody has us say again and again is counted, and told once a minute."""

from __future__ import annotations

from collections import Counter

TOLD, SAY_AGAIN = 256, 60.0  # so many are told one by one in so many s, and none of them twice
OTHERS = ("others", "for various reasons")  # beyond them, together


class Repeats:
    """By (who, why). A stranger can be many, so what is kept of all of them is bounded by `most`."""

    def __init__(self, most: int = TOLD) -> None:
        self._most = most
        self._told: dict[tuple[str, str], float] = {}  # when, the oldest first
        self._more: Counter[tuple[str, str]] = Counter()
        self._since = 0.0  # when the first of these came

    def is_news(self, who: str, why: str, now: float) -> bool:
        """Is it to be told now? Else it is counted. `now` in seconds."""
        self._forget(now)
        what = who, why
        is_known = what in self._told
        if not is_known and len(self._told) < self._most:
            self._told[what] = now
            return True
        if not self._more:
            self._since = now
        self._more[what if is_known else OTHERS] += 1
        return False

    def _forget(self, now: float) -> None:
        while self._told and now - (oldest := next(iter(self._told.items())))[1] >= SAY_AGAIN:
            del self._told[oldest[0]]

    def over(self, now: float) -> Counter[tuple[str, str]]:
        """Counts of what came again, each by its text, when a minute is over since the first of them did."""
        if not self._more or now - self._since < SAY_AGAIN:
            return Counter()
        more, self._more = self._more, Counter()
        return more
