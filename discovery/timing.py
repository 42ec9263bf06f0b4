"""Timing parameters of membership."""

from dataclasses import dataclass
from math import log, log10


@dataclass(frozen=True, slots=True)
class SwimTiming:
    """Timing of probes and suspicions.

    All durations scale with `period`, in seconds.
    """

    # Between two probes. Shorter periods notice deaths sooner, but send more.
    period: float = 1.0
    indirect: int = 3  # helpers asked when a node does not answer
    # Periods of the shortest suspicion, among up to ten nodes.
    suspicion_mult: float = 4.0
    confirmations: int = 2  # further accusers for the shortest suspicion
    max_factor: float = 3.0  # longest suspicion, as a multiple of the shortest

    @property
    def timeout(self) -> float:
        """The seconds without an answer to a probe after which helpers are asked."""
        return self.period / 2

    def shortest(self, alive: int) -> float:
        """Return the duration in s of a fully confirmed suspicion.

        The duration grows with the number of nodes, because rumors take longer to reach them.
        """
        return self.suspicion_mult * max(1.0, log10(max(1, alive))) * self.period

    def wanted(self, alive: int) -> int:
        """Return the number of confirmations to wait for: 0 if there are too few other nodes."""
        return self.confirmations if alive - 2 >= self.confirmations else 0

    def suspicion(self, alive: int, confirmed: int) -> float:
        """Return the duration in s of a suspicion among `alive` nodes with `confirmed` confirmations."""
        shortest, wanted = self.shortest(alive), self.wanted(alive)
        if confirmed >= wanted:
            return shortest
        # Each confirmation shortens it by less than the one before (Lifeguard).
        agreed = log(confirmed + 1) / log(wanted + 1)
        return shortest * (self.max_factor - (self.max_factor - 1) * agreed)
