"""How much of what waits in queues may be in memory, in all of them together?"""

from dataclasses import dataclass


@dataclass(slots=True)
class Memory:
    """Bytes."""

    limit: float
    used: int = 0

    def has_no_room(self, size: int) -> bool:
        """Is it too much for what is left?"""
        return self.used + size > self.limit
