"""A goal: a figure in a unit, and the side of it that is good."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal for a figure.

    `limit` is in `unit`; None means that the figure is reported without a limit. With `more`, higher figures
    are better.
    """

    what: str
    unit: str
    limit: float | None = None
    more: bool = False

    def ratio(self, measured: float) -> float | None:
        """Return how far the goal is reached: 1 or more is good.

        Without a limit, or for a figure of 0, the ratio is None, which counts as reached.
        """
        if self.limit is None or not measured:
            return None
        return measured / self.limit if self.more else self.limit / measured

    def is_reached(self, measured: float) -> bool:
        ratio = self.ratio(measured)
        return ratio is None or ratio >= 1.0
