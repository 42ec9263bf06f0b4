"""How much of what waits at a node may be in memory? The rest waits on the disk alone."""

from dataclasses import dataclass

BEYOND = 2  # times the limit, for what is transient
OWN = 1_000  # bytes that an envelope costs beside its body, about


@dataclass(slots=True)
class Memory:
    """Bytes."""

    limit: float
    used: int = 0

    def has_no_room(self, size: int) -> bool:
        """Is it too much for what is left?"""
        return self.used + size > self.limit

    def is_overfull(self, size: int) -> bool:
        """Is it too much for what can wait nowhere else, and so may go beyond the limit?"""
        return self.used + size > BEYOND * self.limit
