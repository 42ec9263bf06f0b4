"""Delay of the event loop, the best single figure for the health of a node."""

from collections import deque

WINDOW = 5.0  # s; older delays do not matter


class Lag:
    """Delays of timers in the last 5 s, in seconds."""

    def __init__(self) -> None:
        self._last: deque[tuple[float, float]] = deque(maxlen=1000)

    def record_lateness(self, late: float, now: float) -> None:
        self._last.append((now, max(0.0, late)))

    def p99(self, now: float) -> float:
        """Return the 99th percentile of the delays, or 0 if there are none."""
        ordered = sorted(self._since(now))
        return ordered[int(len(ordered) * 0.99)] if ordered else 0.0

    def worst(self, now: float) -> float:
        return max(self._since(now), default=0.0)

    def _since(self, now: float) -> list[float]:
        return [late for then, late in self._last if now - then <= WINDOW]
