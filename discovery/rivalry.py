"""The two processes of a restarted node, which are in conflict if both send messages."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from mesh.discovery.member import Node

# Seconds after a restart in which a message of the older process is a conflict.
WATCHED = 30.0
SILENCE = 10  # probe periods after which a silent process loses
IN_FLIGHT = 1.0  # s after a restart in which messages of a dead process may still be read


@dataclass(slots=True, eq=False)
class Rivalry:
    """The older process of a restarted node, and when each of the two was last in contact.

    `began` is the time of the restart, or of the end of a conflict between the two. A process that said
    goodbye was last in contact at -inf.
    """

    older: Node
    began: float
    heard_older: float
    heard_newer: float

    def is_watched(self, now: float) -> bool:
        """Return whether a message of the older process still counts as a conflict."""
        return now <= self.began + WATCHED

    @property
    def is_sure(self) -> bool:
        """Whether the older process certainly ran after `began`.

        A message of it arrived at least IN_FLIGHT s later.
        """
        return self.heard_older >= self.began + IN_FLIGHT

    def record_boot(self, boot: int, now: float) -> None:
        if boot == self.older.boot:
            self.heard_older = now
        else:
            self.heard_newer = now

    def left(self, boot: int) -> None:
        self.record_boot(boot, -inf)
