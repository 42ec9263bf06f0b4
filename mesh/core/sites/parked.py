"""Portions that have come to another site, and wait there for a master: they hold up nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.core.sites.custody import PartlySent
from mesh.routing.overflow import Credit
from mesh.routing.portion import Portion
from mesh.streams.ranges import Ranges

PARKED = 4  # windows


class Parked:
    """The portions of one site at one master of ours; `bytes` are those of all together."""

    def __init__(self) -> None:
        self.bytes = 0
        self._portions: dict[PartlySent, Portion] = {}
        self._places = Ranges()  # in our log

    def __len__(self) -> int:
        return len(self._portions)

    def __iter__(self) -> Iterator[PartlySent]:
        return iter(self._portions)

    def __contains__(self, given: PartlySent) -> bool:
        return given in self._portions

    @property
    def messages(self) -> int:
        return sum(portion.messages for portion in self._portions.values())

    def has_room(self, window: Credit) -> bool:
        """May one more wait there?"""
        return len(self) < PARKED * window.items and self.bytes < PARKED * window.bytes

    def add(self, given: PartlySent, portion: Portion) -> None:
        place = portion.parcel.position
        self._portions[given] = portion
        self.bytes += portion.size
        if place:
            self._places.add(place, place)

    def pop(self, given: PartlySent) -> Portion:
        """Take it out: it waits there no more."""
        portion = self._portions.pop(given)
        self.bytes -= portion.size
        self._places.remove(portion.parcel.position, portion.parcel.position)
        return portion

    def take_all(self) -> list[Portion]:
        return [self.pop(given) for given in list(self)]

    def settled(self, passed: int) -> int:
        """The last place in our log before all of them, if that is not behind `passed`."""
        return min(passed, self._places.bottom() - 1) if self._places else passed

    def holds(self, stream: bytes, domain: str, number: int) -> bool:
        """Is this message among them?"""
        return any(portion.holds(stream, domain, number) for portion in self._portions.values())
