"""Counts the messages that were dropped for another site, and decides when to report the sum.

The first dropped message is reported immediately, then the sum, at growing intervals while it grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SOON, RARELY = 5.0, 600.0  # s between reports, at first and at most

# Law 1: a dropped message is counted until the site has been sent a transfer, even across restarts.
# Law 2: the final sum is always reported.


@dataclass(slots=True)
class Mark:
    """The mark of a site that needs a transfer. `since` is when it was marked, in ns since 1970."""

    dropped: int = 0
    since: int = 0
    told: int = field(default=0, compare=False)
    _due: float = field(default=float("-inf"), compare=False)
    _pause: float = field(default=SOON, compare=False)

    @property
    def due(self) -> float | None:
        """The time of the next report, or None if the sum has been reported."""
        return self._due if self.dropped > self.told else None

    def take_report(self, now: float) -> int | None:
        """Return the sum and count it as reported, or return None if no report is due."""
        if self.due is None or now < self._due:
            return None
        self._due, self._pause = now + self._pause, min(2 * self._pause, RARELY)
        self.told = self.dropped
        return self.dropped

    def pack(self) -> bytes:
        return self.dropped.to_bytes(8) + self.since.to_bytes(8)

    @classmethod
    def unpack(cls, row: bytes) -> Mark:
        """Restore a mark from its stored row. Its sum counts as reported."""
        dropped = int.from_bytes(row[:8])
        return cls(dropped, int.from_bytes(row[8:16]), dropped)
