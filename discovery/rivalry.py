"""Do two processes answer for one node?"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from discovery.member import Node

WATCHED = 30.0  # s after a restart in which the older process must not speak again
SILENCE = 10  # periods after which one of the two is given up


@dataclass(slots=True, eq=False)
class Rivalry:
    """After a restart: the process of the lower boot, which should be gone, and when both spoke.

    `began` is when the newer one came, or a conflict of the two ended.
    """

    older: Node
    began: float
    heard_older: float
    heard_newer: float

    def is_watched(self, now: float) -> bool:
        """Is it early enough to call it a conflict when the older one speaks?"""
        return now <= self.began + WATCHED

    def note(self, boot: int, now: float) -> None:
        """One of them spoke."""
        if boot == self.older.boot:
            self.heard_older = now
        else:
            self.heard_newer = now

    def left(self, boot: int) -> None:
        """One of them said goodbye."""
        self.note(boot, -inf)
