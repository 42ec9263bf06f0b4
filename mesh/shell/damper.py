"""Is this worth a line, or has somebody thought of a way to have us write thousands?"""

from __future__ import annotations

MOST, MINUTE = 16, 60.0  # lines of a kind in so many s, and none of them twice


class Damper:
    """What is left out is counted, and told by one line."""

    def __init__(self) -> None:
        self._told: dict[str, dict[str, float]] = {}  # by kind and text: when
        self._left_out: dict[str, tuple[float, int]] = {}  # by kind: since when, and how many

    def is_news(self, kind: str, text: str, now: float) -> bool:
        """Is it to be told? `now` in seconds."""
        told = self._told[kind] = {
            text: at for text, at in self._told.get(kind, {}).items() if now - at < MINUTE
        }
        if text in told:
            return False
        if len(told) >= MOST:
            since, count = self._left_out.get(kind, (now, 0))
            self._left_out[kind] = since, count + 1
            return False
        told[text] = now
        return True

    def over(self, now: float) -> list[tuple[str, str]]:
        """(kind, line) for each kind of which something was left out a minute ago."""
        over = {kind: count for kind, (since, count) in self._left_out.items() if now - since >= MINUTE}
        for kind in over:
            del self._left_out[kind]
        return [(kind, f"… and more: {count:,} in a minute") for kind, count in over.items()]
