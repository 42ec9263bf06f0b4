"""Local health: whether this node is too slow to judge others."""

WORST = 8  # highest score: probes take nine times as long


class Health:
    """Lifeguard's local health score: a node that fails to reach others first doubts itself."""

    def __init__(self) -> None:
        self.score = 0  # 0 = well

    @property
    def patience(self) -> int:
        """The factor by which timeouts are extended."""
        return self.score + 1

    def better(self) -> None:
        """Record that a node answered in time."""
        self.score = max(0, self.score - 1)

    def worse(self, points: int) -> None:
        """Add points for missing answers, or for a rumor of this node's own death."""
        self.score = min(WORST, self.score + points)
