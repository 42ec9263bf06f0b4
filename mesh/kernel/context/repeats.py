"""Limits repeated log lines: repetitions are counted and reported once a minute."""

from __future__ import annotations

from collections import Counter

TOLD, SAY_AGAIN = 256, 60.0  # pairs reported singly; s between two reports
OTHERS = ("others", "for various reasons")  # stands for all further pairs


class Repeats:
    """The pairs (who, why) that were reported in the last minute, and the counts of unreported ones.

    There can be any number of strangers, so at most `most` pairs are reported in that time.
    """

    def __init__(self, most: int = TOLD) -> None:
        self._most = most
        self._told: dict[tuple[str, str], float] = {}  # time of the report, the oldest first
        self._more: Counter[tuple[str, str]] = Counter()
        self._since = 0.0  # time of the first unreported pair

    def is_news(self, who: str, why: str, now: float) -> bool:
        """Return whether to report this pair now, at `now` seconds; otherwise count the pair.

        A repeated pair is counted by itself. A new pair beyond `most` is counted under OTHERS.
        """
        self._drop_old(now)
        what = who, why
        is_known = what in self._told
        if not is_known and len(self._told) < self._most:
            self._told[what] = now
            return True
        if not self._more:
            self._since = now
        self._more[what if is_known else OTHERS] += 1
        return False

    def _drop_old(self, now: float) -> None:
        while self._told and now - (oldest := next(iter(self._told.items())))[1] >= SAY_AGAIN:
            del self._told[oldest[0]]

    def take_counts(self, now: float) -> Counter[tuple[str, str]]:
        """Return and reset the counts of unreported pairs by (who, why), a minute after the first one.

        Before that minute is over, the result is empty.
        """
        if not self._more or now - self._since < SAY_AGAIN:
            return Counter()
        more, self._more = self._more, Counter()
        return more
