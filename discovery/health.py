"""Are we ourselves to be trusted, or too slow to judge others?"""

WORST = 8  # so ill that probes are nine times slower


class Health:
    """Lifeguard's local health: whoever fails to reach others doubts itself first, and grows patient."""

    def __init__(self) -> None:
        self.score = 0  # 0 = well

    @property
    def patience(self) -> int:
        """The factor by which to wait longer than usual for an answer."""
        return self.score + 1

    def better(self) -> None:
        """Note that somebody answered us in time."""
        self.score = max(0, self.score - 1)

    def worse(self, points: int) -> None:
        """So many did not, or we had to deny a rumour of our own death."""
        self.score = min(WORST, self.score + points)
