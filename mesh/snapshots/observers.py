"""Selection of the nodes whose states a node records: all in a small mesh, else two observers for each."""

from bisect import bisect_left
from collections.abc import Iterable

# In a mesh of at most this many nodes, each node records all states that it receives.
FULL = 8
OBSERVERS = 2  # of each node in a larger mesh, besides itself


class Observed:
    """The nodes whose states the node `me` records, by uuid.

    While at most FULL nodes are alive, all states are recorded. Otherwise the living nodes form a ring in the
    order of their uuids, and each is observed by the two that follow. A node thus records itself, its two
    predecessors, and any node between them and itself that is not known to be alive.
    """

    def __init__(self, me: bytes) -> None:
        self._me = me
        # Start of the observed arc, which ends before `me`. None: the whole ring.
        self._first: bytes | None = None

    def set_living(self, alive: Iterable[bytes]) -> None:
        """Set the living nodes of the mesh, besides this one."""
        ring = sorted({*alive, self._me})
        at = bisect_left(ring, self._me)
        self._first = ring[at - OBSERVERS] if len(ring) > FULL else None  # a negative index wraps around

    def covers(self, uuid: bytes) -> bool:
        """Return whether the states of this node are recorded."""
        first = self._first
        if first is None or uuid == self._me:
            return True
        if first < self._me:
            return first <= uuid < self._me
        return uuid >= first or uuid < self._me
