"""Slices that have reached another site and wait there for a master, without blocking others."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.features.sites.node.site_in_flight import PartlySent
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.overflow import Credit
from mesh.streams.ranges import Ranges

PARKED = 4  # limit, in windows


class WaitingAtSite:
    """The slices of this master that wait at one site; `bytes` is their total size."""

    def __init__(self) -> None:
        self.bytes = 0
        self._slices: dict[PartlySent, EnvelopeSlice] = {}
        self._places = Ranges()  # positions in our log

    def __len__(self) -> int:
        return len(self._slices)

    def __iter__(self) -> Iterator[PartlySent]:
        return iter(self._slices)

    def __contains__(self, given: PartlySent) -> bool:
        return given in self._slices

    @property
    def messages(self) -> int:
        return sum(slice_.messages for slice_ in self._slices.values())

    def has_room(self, window: Credit) -> bool:
        """Return whether one more slice may wait at the site."""
        return len(self) < PARKED * window.items and self.bytes < PARKED * window.bytes

    def add(self, given: PartlySent, slice_: EnvelopeSlice) -> None:
        place = slice_.stored.position
        self._slices[given] = slice_
        self.bytes += slice_.size
        if place:
            self._places.add(place, place)

    def pop(self, given: PartlySent) -> EnvelopeSlice:
        slice_ = self._slices.pop(given)
        self.bytes -= slice_.size
        self._places.remove(slice_.stored.position, slice_.stored.position)
        return slice_

    def take_all(self) -> list[EnvelopeSlice]:
        return [self.pop(given) for given in list(self)]

    def settled(self, passed: int) -> int:
        """Return the last position in our log before all slices, but at most `passed`."""
        return min(passed, self._places.bottom() - 1) if self._places else passed

    def holds(self, stream: bytes, domain: str, number: int) -> bool:
        return any(slice_.holds(stream, domain, number) for slice_ in self._slices.values())
