"""How long may a suspect still deny that it is dead?"""

from __future__ import annotations

from dataclasses import dataclass, field

from discovery.timers import Timer
from discovery.timing import SwimTiming


@dataclass(slots=True, eq=False)
class Suspicion:
    """A suspicion that `began` (by `Timers.local`) when so many were `alive`, the suspect included."""

    timing: SwimTiming
    alive: int
    began: float
    accuser: bytes
    confirmed: set[bytes] = field(default_factory=set)  # by other accusers
    timer: Timer | None = None

    @property
    def ends(self) -> float:
        """When it is over, on the same clock."""
        return self.began + self.timing.suspicion(self.alive, len(self.confirmed))

    def confirm(self, by: bytes) -> bool:
        """Another one accuses it, too. False if that changes nothing."""
        is_enough = len(self.confirmed) >= self.timing.wanted(self.alive)
        if is_enough or by == self.accuser or by in self.confirmed:
            return False
        self.confirmed.add(by)
        return True
