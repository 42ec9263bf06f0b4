"""Slices that a peer has received and not settled, which are resent if the peer fails.

A stopped subscriber at the peer must not fill the memory here. Above the limit the oldest slices are left
to the peer: if it fails, they become a gap.
"""

# Law: a slice waits only for slices before it in its master's log, in whatever order they were sent. Nodes
# that relay one log to each other by several routes would otherwise wait for each other forever.

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

    def add_slice(self, slice_: EnvelopeSlice) -> list[EnvelopeSlice]:
        """Add a slice, and return the slices above the limit, which are now left to the peer."""
        self._rows.setdefault(slice_.stored.master, EnvelopeSlices()).insert_by_position(slice_)
        self._bytes += slice_.size
        self._rest(slice_)
        given = []
        while self._bytes > self._bound:
            oldest = self._pop(next(iter(self._rows)))
            messages, last = self._trusted.get(oldest.stored.master, (0, 0))
            last = max(last, oldest.stored.position)
            self._trusted[oldest.stored.master] = (messages + oldest.messages, last)
            given.append(oldest)
        return given

    def settle(self, master: bytes, position: int) -> list[EnvelopeSlice]:
        """Settle a master's log up to `position`, and return the settled slices."""
        settled = []
        while master in self._rows and self._rows[master].first.stored.position <= position:
            settled.append(self._pop(master))
        if position >= self._trusted.get(master, (0, 0))[1]:
            self._trusted.pop(master, None)
        return settled

    def count(self, master: bytes, below: float) -> int:
        """Return the number of unsettled messages in a master's log below a position."""
        rows = self._rows.get(master, ())
        return sum(slice_.messages for slice_ in rows if slice_.stored.position < below)

    def take_all(self) -> list[EnvelopeSlice]:
        slices = [slice_ for row in self._rows.values() for slice_ in row]
        self._rows.clear()
        self._trusted.clear()
        self._bytes = 0
        for slice_ in slices:
            self._wake(slice_)
        return slices

    def _pop(self, master: bytes) -> EnvelopeSlice:
        slice_ = self._rows[master].pop()
        if not self._rows[master]:
            del self._rows[master]
        self._bytes -= slice_.size
        self._wake(slice_)
        return slice_

    def _rest(self, slice_: EnvelopeSlice) -> None:
        paging, stored = self._paging, slice_.stored
        if paging is None or not stored.own:
            return
        if stored.is_here and not paging.is_full_for(stored):
            paging.count_in_memory(stored, +1)
        else:
            paging.rest(stored)
            self._resting.add(slice_.number)

    def _wake(self, slice_: EnvelopeSlice) -> None:
        paging, stored = self._paging, slice_.stored
        if paging is None or not stored.own:
            return
        if slice_.number in self._resting:
            self._resting.discard(slice_.number)
            paging.drop_waiting(stored)
        else:
            paging.count_in_memory(stored, -1)
