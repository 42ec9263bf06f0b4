"""Decides which nodes to ask for rows, so that no node sends the same rows twice."""

# Law: nobody is asked twice for what it told already. So who boasts of rows and tells none, or tells some
#      that are none, is asked once for each boast; and once in AGAIN where the author of one was not known.

from __future__ import annotations

from math import inf

from discovery.state import Summary
from mesh.shared.table import ROWS

SETTLED = 5.0  # s after a change in which a node is not asked for what others may lack
AGAIN = 60.0  # s until a node is asked again for rows whose author was not known
WHOLE = 40.0  # s between two looks through the whole of the largest table: smaller ones take less

Place = tuple[bytes, str]  # a node's uuid, and a kind


class Told:
    """What each node had when it was asked last, and what this one had then. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._boasts: dict[Place, tuple[Summary, Summary]] = {}
        self._passed: dict[Place, float] = {}  # whose rows were passed over, and until when
        self._whole: dict[Place, float] = {}  # when all rows may be asked for again
        self._asking: set[bytes] = set()  # who has a question of ours

    def may_ask(self, uuid: bytes, theirs: Summary, ours: Summary, now: float) -> bool:
        """Has it no question of ours, and not told yet what it boasts of? Whoever hears yes asks."""
        place, boast = (uuid, theirs.kind), (theirs, ours)
        is_again = self.is_passed_over(*place, now)
        if uuid in self._asking or (self._boasts.get(place) == boast and not is_again):
            return False
        self._passed.pop(place, None)
        self._boasts[place] = boast
        return True

    def may_ask_for_all(self, uuid: bytes, kind: str, now: float) -> bool:
        """Is it time again to look through all rows of one that has nothing newer?"""
        return now >= self._whole.get((uuid, kind), -inf)

    def asks_for_all(self, uuid: bytes, kind: str, rows: int, now: float) -> None:
        """It is asked for all rows of that kind, of which there are so many here."""
        self._whole[uuid, kind] = now + WHOLE * rows / ROWS

    def is_passed_over(self, uuid: bytes, kind: str, now: float) -> bool:
        """Was a row of it not taken, and is it time to try again?"""
        return now >= self._passed.get((uuid, kind), inf)

    def asks(self, uuid: bytes) -> None:
        """It has a question of ours."""
        self._asking.add(uuid)

    def answered(self, uuid: bytes, kind: str, is_answer: bool) -> None:
        """It has answered, or not: then its next state says again what it has."""
        self._asking.discard(uuid)
        if not is_answer:
            self._boasts.pop((uuid, kind), None)

    def passed_over(self, uuid: bytes, kind: str, now: float) -> None:
        """A row of it was not taken, and may be later."""
        self._passed[uuid, kind] = now + AGAIN

    def forget(self, uuid: bytes) -> None:
        """That node is remembered no more."""
        for table in (self._boasts, self._passed, self._whole):
            for place in [place for place in table if place[0] == uuid]:
                del table[place]


def is_worth_asking(theirs: Summary, ours: Summary, since_change: float) -> bool:
    """Does it have rows that are not here? With nothing newer it may only lack ours, and ask for them."""
    if not theirs.digest or (theirs.digest == ours.digest and theirs.stamp <= ours.stamp):
        return False
    return theirs.stamp > ours.stamp or since_change >= SETTLED
