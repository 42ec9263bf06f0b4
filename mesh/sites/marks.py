"""Messages found no room for another site, which lacks them: how many, and when is that told?

The first is told at once, and then the sum, ever more rarely while it grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SOON, RARELY = 5.0, 600.0  # s after which the sum is told again, at first and at last

# Law 1: what was not kept for a site is counted until that has been sent a transfer, whatever happens here.
# Law 2: whatever the sum is in the end, it is told.


@dataclass(slots=True)
class Mark:
    """One site that needs a transfer. `since`: wall clock, ns."""

    dropped: int = 0
    since: int = 0
    told: int = field(default=0, compare=False)
    _due: float = field(default=float("-inf"), compare=False)
    _pause: float = field(default=SOON, compare=False)

    @property
    def due(self) -> float | None:
        """When the sum is to be told; None: it has been."""
        return self._due if self.dropped > self.told else None

    def tell(self, now: float) -> int | None:
        """The sum, if it is to be told now."""
        if self.due is None or now < self._due:
            return None
        self._due, self._pause = now + self._pause, min(2 * self._pause, RARELY)
        self.told = self.dropped
        return self.dropped

    def pack(self) -> bytes:
        return self.dropped.to_bytes(8) + self.since.to_bytes(8)

    @classmethod
    def unpack(cls, row: bytes) -> Mark:
        """As it was stored; what it counted then has been told."""
        dropped = int.from_bytes(row[:8])
        return cls(dropped, int.from_bytes(row[8:16]), dropped)
