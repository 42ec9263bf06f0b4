"""Is this worth a line, or has somebody thought of a way to have us write thousands?"""

from __future__ import annotations

from mesh.core.desk.repeats import OTHERS, Repeats

MOST = 16  # lines of a kind in a minute, and none of them twice


class Damper:
    """By kind: what is left out of more than these is counted, and told by one line."""

    def __init__(self) -> None:
        self._told: dict[str, Repeats] = {}

    def is_news(self, kind: str, text: str, now: float) -> bool:
        """Is it to be told? `now` in seconds."""
        return self._told.setdefault(kind, Repeats(MOST)).is_news(text, "", now)

    def over(self, now: float) -> list[tuple[str, str]]:
        """(kind, line) for each kind of which something was left out a minute ago."""
        over = {kind: told.over(now)[OTHERS] for kind, told in self._told.items()}
        return [(kind, f"… and more: {count:,} in a minute") for kind, count in over.items() if count]
