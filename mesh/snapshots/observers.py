"""Whose states does a node write down? In a small mesh everybody's; in a large one two write each node's."""

from bisect import bisect_left
from collections.abc import Iterable

FULL = 8  # nodes up to which each writes down all that it hears
OBSERVERS = 2  # of each node in a larger mesh, besides itself


class Observed:
    """The nodes whose states the node `me` writes down, by uuid.

    All nodes stand on a ring, in the order of their uuids, and each is observed by the two that follow it.
    So a node observes its own two predecessors, and whoever stands between them and itself without being
    known as alive.
    """

    def __init__(self, me: bytes) -> None:
        self._me = me
        self._first: bytes | None = None  # of the part of the ring that ends before `me`; None: all of it

    def changed(self, alive: Iterable[bytes]) -> None:
        """The mesh now consists of these, and of itself."""
        ring = sorted({*alive, self._me})
        at = bisect_left(ring, self._me)
        self._first = ring[at - OBSERVERS] if len(ring) > FULL else None  # below 0 it goes round the ring

    def covers(self, uuid: bytes) -> bool:
        """Does it write down this one's states?"""
        first = self._first
        if first is None or uuid == self._me:
            return True
        if first < self._me:
            return first <= uuid < self._me
        return uuid >= first or uuid < self._me
