"""Memory limit for waiting messages at a node.

When the limit is reached, messages of the node's own log wait on disk only.
"""

from dataclasses import dataclass

BEYOND = 2  # factor of the limit for transient messages
OWN = 1_000  # approximate bytes of an envelope besides its body


@dataclass(slots=True)
class Memory:
    """Memory in use and its limit, in bytes."""

    limit: float
    used: int = 0

    def has_no_room(self, size: int) -> bool:
        return self.used + size > self.limit

    def is_overfull(self, size: int) -> bool:
        """Return whether `size` more bytes exceed the limit for messages that can wait only in memory."""
        return self.used + size > BEYOND * self.limit
