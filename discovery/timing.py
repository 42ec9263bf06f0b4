"""How patient is membership?"""

from dataclasses import dataclass
from math import log, log10


@dataclass(frozen=True, slots=True)
class SwimTiming:
    """Everything scales with `period`, in seconds."""

    period: float = 1.0  # between two probes of ours; shorter = deaths are seen sooner, and more traffic
    indirect: int = 3  # helpers that are asked when a node does not answer
    suspicion_mult: float = 4.0  # periods that the shortest suspicion lasts, up to ten nodes
    confirmations: int = 2  # other accusers that make a suspicion as short as can be
    max_factor: float = 3.0  # an unconfirmed suspicion lasts so many times the shortest

    @property
    def timeout(self) -> float:
        """Seconds after which helpers are asked."""
        return self.period / 2

    def shortest(self, alive: int) -> float:
        """Seconds of a suspicion in which everybody agrees. A rumour takes longer among many."""
        return self.suspicion_mult * max(1.0, log10(max(1, alive))) * self.period

    def wanted(self, alive: int) -> int:
        """Confirmations to wait for: none where there are too few others to give them."""
        return self.confirmations if alive - 2 >= self.confirmations else 0

    def suspicion(self, alive: int, confirmed: int) -> float:
        """Seconds that a suspicion lasts among so many alive nodes, with so many confirmations."""
        shortest, wanted = self.shortest(alive), self.wanted(alive)
        if confirmed >= wanted:
            return shortest
        # Each confirmation counts for less than the one before (Lifeguard).
        agreed = log(confirmed + 1) / log(wanted + 1)
        return shortest * (self.max_factor - (self.max_factor - 1) * agreed)
