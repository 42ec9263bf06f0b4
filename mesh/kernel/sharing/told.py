"""Decides which nodes to ask for rows, so that no node sends the same rows twice."""

# Law: no node is asked twice for rows that it has sent, except in a request for all its rows, which is rare
# (WHOLE). A node that announces rows and sends none, or invalid ones, is asked once for each announcement,
# and once per AGAIN if an author was unknown.

from __future__ import annotations

from math import inf

from mesh.discovery.state import Summary
from mesh.shared.table import ROWS

SETTLED = 5.0  # s after a change without questions to nodes
AGAIN = 60.0  # s until rows of an unknown author are retried
WHOLE = 40.0  # s between full scans of the largest table; smaller ones take less

Place = tuple[bytes, str]  # uuid of a node, and a kind


class Told:
    """The announcement with which each node was last asked, and our summary at that time.

    Times are monotonic, in seconds.
    """

    def __init__(self) -> None:
        self._boasts: dict[Place, tuple[Summary, Summary]] = {}
        self._passed: dict[Place, float] = {}  # end of the pause after a skipped row
        self._whole: dict[Place, float] = {}  # when all rows may be requested again
        self._asking: set[bytes] = set()  # nodes with an open question

    def may_ask(self, uuid: bytes, theirs: Summary, ours: Summary, now: float) -> bool:
        """Return whether to ask the node, and record its announcement if so; the caller must then ask.

        The result is False while a question to the node is open. It is also False if neither the announcement
        nor our rows have changed since the last request, unless the retry of a skipped row is due.
        """
        place, boast = (uuid, theirs.kind), (theirs, ours)
        is_again = self.is_passed_over(*place, now)
        if uuid in self._asking or (self._boasts.get(place) == boast and not is_again):
            return False
        self._passed.pop(place, None)
        self._boasts[place] = boast
        return True

    def may_ask_for_all(self, uuid: bytes, kind: str, now: float) -> bool:
        """Return whether the last request to the node for all its rows was long enough ago for another."""
        return now >= self._whole.get((uuid, kind), -inf)

    def asks_for_all(self, uuid: bytes, kind: str, rows: int, now: float) -> None:
        """Record a request for all rows of `kind`; `rows` is the number of such rows at this node."""
        self._whole[uuid, kind] = now + WHOLE * rows / ROWS

    def is_passed_over(self, uuid: bytes, kind: str, now: float) -> bool:
        """Return whether a row of the node was skipped and may now be requested again."""
        return now >= self._passed.get((uuid, kind), inf)

    def asks(self, uuid: bytes) -> None:
        """Record an open question to the node."""
        self._asking.add(uuid)

    def record_reply(self, uuid: bytes, kind: str, is_answer: bool) -> None:
        """Record a reply, or its absence if `is_answer` is False.

        Without a reply, even the same announcement is followed up again.
        """
        self._asking.discard(uuid)
        if not is_answer:
            self._boasts.pop((uuid, kind), None)

    def passed_over(self, uuid: bytes, kind: str, now: float) -> None:
        """Record that a row was skipped and may be accepted later."""
        self._passed[uuid, kind] = now + AGAIN

    def forget_node(self, uuid: bytes) -> None:
        for table in (self._boasts, self._passed, self._whole):
            for place in [place for place in table if place[0] == uuid]:
                del table[place]


def is_worth_asking(theirs: Summary, ours: Summary, since_change: float) -> bool:
    """Return whether the other node may have rows that are missing here.

    A node without newer rows may simply lack ours, and will ask for them. It is worth asking only if our rows
    have not changed for SETTLED seconds.
    """
    if not theirs.digest or (theirs.digest == ours.digest and theirs.stamp <= ours.stamp):
        return False
    return theirs.stamp > ours.stamp or since_change >= SETTLED
