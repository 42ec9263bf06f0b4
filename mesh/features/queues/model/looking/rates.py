"""Event rates per second with exponential decay."""

from __future__ import annotations

from math import exp

OVER = 10.0  # s: time constant of the decay
PACE = 1.0  # s: time constant for consumers that just started


class RateMeter:
    """The rate of counted events per second.

    After `over` seconds of a steady rate, the meter shows 63 % of this rate; after three times as long, 95 %.
    """

    __slots__ = ("_at", "_over", "_rate")

    def __init__(self, over: float = OVER) -> None:
        self._over = over
        self._rate = 0.0  # per second, at `_at`
        self._at = 0.0  # s

    def add(self, n: int, now: float) -> None:
        """Count `n` events at `now` (s). If the clock goes back, earlier counts do not decay."""
        self._rate = self.value(now) + n / self._over
        self._at = max(self._at, now)

    def value(self, now: float) -> float:
        """Return the rate per second at `now` (s)."""
        return self._rate * exp(-max(0.0, now - self._at) / self._over)


class QueueTraffic:
    """Counters and rates of the messages that enter and leave a local queue."""

    def __init__(self) -> None:
        self.arrives, self.leaves = RateMeter(), RateMeter()
        self.pace = RateMeter(PACE)  # as `leaves`, with a shorter time constant
        self.finished = 0  # messages acknowledged by consumers here
        self.moved_in = self.moved_out = 0  # messages moved from and to other nodes
        self.dropped = 0  # messages dropped because the queue was full

    def count_settled(self, n: int, now: float) -> None:
        """Count `n` messages that consumers here acknowledged at `now` (s)."""
        self.leaves.add(n, now)
        self.pace.add(n, now)
        self.finished += n
