"""The clock at the other end of a connection, beside the one of this node."""

# Law 1: a sample that travels late makes the other clock look behind, and never ahead. Of the last few, the
#        highest is reported, and the lowest corrects times to live: an error never ends a message too early.
# Law 2: a difference below EXACT is no difference: it may be the time that a sample traveled.

from __future__ import annotations

from collections import deque

SAMPLES = 3  # that are remembered
EXACT = 1_000_000_000  # ns
FURTHEST = 366 * 86_400 * 10**9  # ns that another clock is believed to be away from ours


class OtherClock:
    """The clock of a node or a client, as its last few timestamps show it."""

    def __init__(self) -> None:
        self._samples: deque[int] = deque(maxlen=SAMPLES)
        self.is_told = False  # the other end sends its time on this connection
        self.shift = 0  # ns to take from its timestamps, so that they can be compared with our clock

    @property
    def ahead(self) -> int:
        """How many ns it is ahead of ours; below 0: it is behind."""
        return max(self._samples, default=0)

    def tells(self, wall: int, here: int) -> None:
        """Take the time that the other end has sent on this connection, 0 if none. `here`: our own, in ns
        since 1970.
        """
        self.is_told = self.is_told or wall > 0
        self.shows(wall, here)

    def shows(self, wall: int, here: int) -> None:
        """Take a timestamp that has just arrived; 0 is none."""
        if wall:
            self._samples.append(max(-FURTHEST, min(wall - here, FURTHEST)))
            lowest = min(self._samples)
            self.shift = lowest if abs(lowest) >= EXACT else 0
