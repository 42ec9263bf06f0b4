"""Progress in the log of one master.

This node relays the log, and settles only what its own readers have settled.
"""

from collections import OrderedDict

from mesh.routing.stored_envelope import StoredEnvelope


class Upstream:
    """Positions in one master's log: received, needed here, settled."""

    def __init__(self) -> None:
        self.received = 0
        self._open: OrderedDict[int, StoredEnvelope] = OrderedDict()

    def record_envelope(self, stored: StoredEnvelope) -> bool:
        """Record a stored envelope, and return whether it is new.

        After a reconnect the master resends unsettled stored envelopes.
        """
        if stored.position <= self.received:
            return False
        self.received = stored.position
        self._open[stored.position] = stored
        return True

    def open_at(self, position: int) -> StoredEnvelope | None:
        return self._open.get(position)

    def release_envelope(self, stored: StoredEnvelope) -> bool:
        """Record that a stored envelope is no longer needed here.

        Return whether the settled position moved.
        """
        oldest = next(iter(self._open), 0)
        self._open.pop(stored.position, None)
        return stored.position == oldest

    @property
    def settled(self) -> int:
        return settled_position(self.received, next(iter(self._open), None))


def settled_position(received: int, oldest: int | None) -> int:
    """Return the last position that may be settled; `oldest` is the first position that is needed here."""
    return received if oldest is None else oldest - 1
