"""Local health: whether this node is too slow to judge others."""

WORST = 8  # highest score: probes take nine times as long


class Health:
    """Lifeguard's local health score.

    While answers are missing, the score rises and extends this node's timeouts, because this node may be too
    slow.
    """

    def __init__(self) -> None:
        self.score = 0  # 0 = well

    @property
    def patience(self) -> int:
        """The factor by which timeouts are extended."""
        return self.score + 1

    def better(self) -> None:
        self.score = max(0, self.score - 1)

    def worse(self, points: int) -> None:
        """Add points for missing answers, or for a rumor that this node itself is suspect, dead or left."""
        self.score = min(WORST, self.score + points)
