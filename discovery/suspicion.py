"""A suspicion, and the time within which the suspect can deny it."""

from __future__ import annotations

from dataclasses import dataclass, field

from mesh.discovery.timers import Timer
from mesh.discovery.timing import SwimTiming


@dataclass(slots=True, eq=False)
class Suspicion:
    """A suspicion of one node.

    `began` is a time of `Timers.local`. `alive` counts the living nodes at that time, including the suspect.
    """

    timing: SwimTiming
    alive: int
    began: float
    accuser: bytes
    confirmed: set[bytes] = field(default_factory=set)  # further accusers
    timer: Timer | None = None

    @property
    def ends(self) -> float:
        """The end of the suspicion, as a time of `Timers.local`."""
        return self.began + self.timing.suspicion(self.alive, len(self.confirmed))

    def add_accuser(self, by: bytes) -> bool:
        """Count another accuser if that shortens the suspicion, and return whether it does."""
        is_enough = len(self.confirmed) >= self.timing.wanted(self.alive)
        if is_enough or by == self.accuser or by in self.confirmed:
            return False
        self.confirmed.add(by)
        return True
