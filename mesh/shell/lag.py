"""How late does the loop come to its work? The one figure that tells whether a node is healthy."""

from collections import deque

WINDOW = 5.0  # s: what was earlier says nothing of how the node is doing


class Lag:
    """Lateness of timers, in seconds, of late: what is relieved soon says so."""

    def __init__(self) -> None:
        self._last: deque[tuple[float, float]] = deque(maxlen=1000)

    def note(self, late: float, now: float) -> None:
        self._last.append((now, max(0.0, late)))

    def p99(self, now: float) -> float:
        """99 of 100 were not later than this."""
        ordered = sorted(self._since(now))
        return ordered[int(len(ordered) * 0.99)] if ordered else 0.0

    def worst(self, now: float) -> float:
        return max(self._since(now), default=0.0)

    def _since(self, now: float) -> list[float]:
        return [late for then, late in self._last if now - then <= WINDOW]
