"""What is a goal? A figure in a unit, and on which side of it is good."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal. `limit` in `unit`; None where no figure is promised, only reported. `more`: more is better."""

    what: str
    unit: str
    limit: float | None = None
    more: bool = False

    def ratio(self, measured: float) -> float | None:
        """The degree to which it is reached: 1 or above is good."""
        if self.limit is None or not measured:
            return None
        return measured / self.limit if self.more else self.limit / measured

    def is_reached(self, measured: float) -> bool:
        ratio = self.ratio(measured)
        return ratio is None or ratio >= 1.0
