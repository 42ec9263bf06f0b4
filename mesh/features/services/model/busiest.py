"""Selects the busiest addresses, which get statistics of their own; all others share one sum.

Law: while an address keeps its place, its sum never shrinks. Messages counted for an address without a place
stay in the shared sum, which never shrinks either.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import add, sub

from msgspec import Struct

from mesh.snapshots.outcomes import OutcomeCounts

REST = "other"  # name of the shared sum


class Sums(Struct, frozen=True):
    """Cumulative counts of messages to an address and of outcomes, and the total time to a reply in s."""

    sent: int = 0
    requests: int = 0
    replies: int = 0
    failures: int = 0
    seconds: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        return Sums(*map(add, self._fields(), other._fields()))

    def less(self, other: Sums) -> Sums:
        """Return the difference, with 0 in place of negative values."""
        return Sums(*(max(0, n) for n in map(sub, self._fields(), other._fields())))

    def _fields(self) -> tuple[int, int, int, int, float]:
        return self.sent, self.requests, self.replies, self.failures, self.seconds


def sums(fared: OutcomeCounts) -> Sums:
    return Sums(fared.sent, fared.requests, fared.replies, fared.failures, fared.seconds)


class _Place(Struct):
    """The place of one address: its sums at the last selection, and its sums since it got the place."""

    known: Sums
    own: Sums


class Busiest:
    """The busiest addresses, at most `places`, each with its own sums.

    An address that gets a place after the places were full starts at 0: its earlier messages stay in the
    shared sum REST. An address that loses its place loses its sums.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._of: dict[str, _Place] = {}
        self._every = Sums()  # sum at the last selection
        self._rest = Sums()
        self._is_full = False  # some address got no place last time

    def select(self, every: Sums, found: Mapping[str, Sums]) -> dict[str, Sums]:
        """Select the busiest addresses anew. Return their sums by address, with REST if it is not empty.

        `every` is the sum over all addresses, `found` has the sums of each.
        """
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
        """Add the new counts of an address to its place, and return the difference."""
        place = self._of.get(name)
        if place is None:
            known = now if self._is_full else Sums()  # may already be in the shared sum
            place = self._of[name] = _Place(known, Sums())
        new = now.less(place.known)
        place.known, place.own = now, place.own + new
        return new
