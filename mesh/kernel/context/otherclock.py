"""The clock at the other end of a connection, compared with the clock of this node."""

# Law 1: a delayed sample makes the other clock appear behind, and never ahead. Of the last few samples, the
#        highest is reported, and the lowest corrects times to live: no message expires too early by an error.
# Law 2: a difference below EXACT is no difference: it may be the time that a sample traveled.

from __future__ import annotations

from collections import deque

SAMPLES = 3  # samples that are remembered
EXACT = 1_000_000_000  # ns
FURTHEST = 366 * 86_400 * 10**9  # ns, the largest difference that is recorded


class OtherClock:
    """The clock of a node or a client, as its last few timestamps show it."""

    def __init__(self) -> None:
        self._samples: deque[int] = deque(maxlen=SAMPLES)
        self.is_told = False  # whether the other end sends its time
        self.shift = 0  # ns to subtract from its timestamps

    @property
    def ahead(self) -> int:
        """The ns by which the other clock is ahead of ours; negative if it is behind."""
        return max(self._samples, default=0)

    def tells(self, wall: int, here: int) -> None:
        """Record the time that the other end sent on this connection, 0 if none.

        `here` is our own time in ns since 1970.
        """
        self.is_told = self.is_told or wall > 0
        self.shows(wall, here)

    def shows(self, wall: int, here: int) -> None:
        """Record a timestamp that has just arrived; 0 means none."""
        if wall:
            self._samples.append(max(-FURTHEST, min(wall - here, FURTHEST)))
            lowest = min(self._samples)
            self.shift = lowest if abs(lowest) >= EXACT else 0
