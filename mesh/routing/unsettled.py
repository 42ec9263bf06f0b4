"""Slices that a peer has received and not settled, which are resent if the peer fails.

A stopped subscriber at the peer must not fill the memory here. Above the limit the oldest slices are left
to the peer: if it fails, they become a gap.
"""

from __future__ import annotations

from mesh.routing.envelope_slice import EnvelopeSlice, EnvelopeSlices
from mesh.routing.paging import Paging


class Unsettled:
    """Unsettled slices by master, each in log order, with at most `bound` bytes in total."""

    def __init__(self, bound: int, paging: Paging | None = None) -> None:
        self._bound = bound
        self._paging = paging
        self._resting: set[int] = set()  # numbers of slices that are on disk only
        self._bytes = 0
        self._rows: dict[bytes, EnvelopeSlices] = {}
        self._trusted: dict[bytes, tuple[int, int]] = {}  # master: (messages, last position)

    def __bool__(self) -> bool:
        return bool(self._rows)

    @property
    def trusted(self) -> int:
        """The number of messages that are left to the peer."""
        return sum(messages for messages, _ in self._trusted.values())

    def add_slice(self, portion: EnvelopeSlice) -> list[EnvelopeSlice]:
        """Add a slice, and return the slices above the limit, which are now left to the peer."""
        self._rows.setdefault(portion.parcel.master, EnvelopeSlices()).append(portion)
        self._bytes += portion.size
        self._rest(portion)
        given = []
        while self._bytes > self._bound:
            oldest = self._pop(next(iter(self._rows)))
            messages, _ = self._trusted.get(oldest.parcel.master, (0, 0))
            self._trusted[oldest.parcel.master] = (messages + oldest.messages, oldest.parcel.position)
            given.append(oldest)
        return given

    def settle(self, master: bytes, position: int) -> list[EnvelopeSlice]:
        """Settle a master's log up to `position`, and return the settled slices."""
        settled = []
        while master in self._rows and self._rows[master].first.parcel.position <= position:
            settled.append(self._pop(master))
        if position >= self._trusted.get(master, (0, 0))[1]:
            self._trusted.pop(master, None)
        return settled

    def take_all(self) -> list[EnvelopeSlice]:
        portions = [portion for row in self._rows.values() for portion in row]
        self._rows.clear()
        self._trusted.clear()
        self._bytes = 0
        for portion in portions:
            self._wake(portion)
        return portions

    def _pop(self, master: bytes) -> EnvelopeSlice:
        portion = self._rows[master].pop()
        if not self._rows[master]:
            del self._rows[master]
        self._bytes -= portion.size
        self._wake(portion)
        return portion

    def _rest(self, portion: EnvelopeSlice) -> None:
        paging, parcel = self._paging, portion.parcel
        if paging is None or not parcel.own:
            return
        if parcel.is_here and not paging.is_full_for(parcel):
            paging.count_in_memory(parcel, +1)
        else:
            paging.rest(parcel)
            self._resting.add(portion.number)

    def _wake(self, portion: EnvelopeSlice) -> None:
        paging, parcel = self._paging, portion.parcel
        if paging is None or not parcel.own:
            return
        if portion.number in self._resting:
            self._resting.discard(portion.number)
            paging.wake(parcel)
        else:
            paging.count_in_memory(parcel, -1)
