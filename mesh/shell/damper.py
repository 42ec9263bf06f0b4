"""Limits repeated log lines, which an unknown peer could cause by the thousands."""

from __future__ import annotations

from mesh.kernel.context.repeats import OTHERS, Repeats

MOST = 16  # different lines of one kind per minute


class Damper:
    """Rate limiter for log lines, separately for each kind.

    The same line passes once a minute, and at most MOST different lines of a kind do. Repetitions of lines
    that passed are dropped. All other lines are counted, and `take_suppressed` reports their number.
    """

    def __init__(self) -> None:
        self._told: dict[str, Repeats] = {}

    def is_news(self, kind: str, text: str, now: float) -> bool:
        """Return whether to log `text`; `now` is in seconds."""
        return self._told.setdefault(kind, Repeats(MOST)).is_news(text, "", now)

    def take_suppressed(self, now: float) -> list[tuple[str, str]]:
        """Return (kind, line with the count) for each kind with counted lines, and reset the counts.

        A count is returned a minute after its first line, not earlier.
        """
        over = {kind: told.take_counts(now)[OTHERS] for kind, told in self._told.items()}
        return [(kind, f"… and more: {count:,} in a minute") for kind, count in over.items() if count]
