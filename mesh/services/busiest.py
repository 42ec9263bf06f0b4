"""Which addresses have figures of their own, where only so many can? The busiest; all others are one sum.

Law: none of the sums ever shrinks, and each message is in one of them. What is counted of an address while it
has no place is in the rest for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import add, sub

from msgspec import Struct

from mesh.services.figures import Fared

REST = "other"  # under which all those are told that have no place. An address of that name is among them


class Sums(Struct, frozen=True):
    """The sums of one address: what became of what was sent to it. All of them only grow."""

    sent: int = 0
    requests: int = 0
    replies: int = 0
    failures: int = 0
    seconds: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        return Sums(*map(add, self._all(), other._all()))

    def less(self, other: Sums) -> Sums:
        """The difference; 0 where there is less than there was."""
        return Sums(*(max(0, n) for n in map(sub, self._all(), other._all())))

    def _all(self) -> tuple[int, int, int, int, float]:
        return self.sent, self.requests, self.replies, self.failures, self.seconds


def sums(fared: Fared) -> Sums:
    return Sums(fared.sent, fared.requests, fared.replies, fared.failures, fared.seconds)


class _Place(Struct):
    """The place of one address: what it had at the last look, and what has come since it has the place."""

    known: Sums
    own: Sums


class Busiest:
    """So many `places`. Whoever looks sees what was counted since it began, and may look at any time."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._of: dict[str, _Place] = {}
        self._every = Sums()  # of all, when it was last looked at
        self._rest = Sums()
        self._is_full = False  # some had no place the last time

    def look(self, every: Sums, found: Mapping[str, Sums]) -> dict[str, Sums]:
        """`every`: of all addresses together; `found`: of each. By address, and REST if there is any."""
        names = sorted(
            found.keys() - {REST}, key=lambda name: (-found[name].sent - found[name].requests, name)
        )
        chosen = names[: self._places]
        grown = every.less(self._every)
        for name in self._of.keys() - set(chosen):
            del self._of[name]
        for name in chosen:
            grown = grown.less(self._count(name, found[name]))
        self._rest += grown
        self._every, self._is_full = every, len(chosen) < len(names)
        told = {name: place.own for name, place in self._of.items()}
        return {**told, REST: self._rest} if self._rest != Sums() else told

    def _count(self, name: str, now: Sums) -> Sums:
        """What is new of one that has a place, or gets one."""
        place = self._of.get(name)
        if place is None:
            known = now if self._is_full else Sums()  # perhaps it is in the rest
            place = self._of[name] = _Place(known, Sums())
        new = now.less(place.known)
        place.known, place.own = now, place.own + new
        return new
