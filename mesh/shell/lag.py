"""How late does the loop come to its work? The one figure that tells whether a node is healthy."""

from collections import deque


class Lag:
    """Lateness of timers, in seconds, over the last thousand."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=1000)

    def note(self, late: float) -> None:
        self._last.append(max(0.0, late))

    def p99(self) -> float:
        """99 of 100 were not later than this."""
        ordered = sorted(self._last)
        return ordered[int(len(ordered) * 0.99)] if ordered else 0.0

    def worst(self) -> float:
        return max(self._last, default=0.0)
