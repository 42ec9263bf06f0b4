"""The paged part of a backlog: entries on disk only, entries being read, and those behind them in memory."""

# Law: entries being read come before all that are on disk only. Entries in memory are ordered among both by
# their number.

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from math import inf

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.paged import EntryRow, Paged
from mesh.routing.paging import Paging
from mesh.routing.shares import Indices
from mesh.routing.stored_envelope import absent, nameless
from mesh.wire.envelope import Envelope


class DiskBacklog:
    """The paged part of one backlog, behind the entries that are ready.

    The backlog drops the object when a read leaves it empty.
    """

    def __init__(self, paging: Paging) -> None:
        self.coming: list[EnvelopeSlice] = []  # being read
        self.void: list[EnvelopeSlice] = []  # being read because they have expired
        self.behind: deque[EnvelopeSlice] = deque()  # in memory: transient, or the publisher waits for it
        self.bytes = 0  # of all entries
        self._paging = paging
        self._paged = Paged()  # by number
        self._parts: dict[int, tuple[Indices, int, Envelope]] = {}  # by number: messages, total size, stub
        self._gaps: dict[int, int] = {}  # by number: gap before the entry

    def __len__(self) -> int:
        return len(self._paged) + len(self.coming) + len(self.void) + len(self.behind)

    @property
    def has_next(self) -> bool:
        """Whether entries are left on disk only, or in memory behind others."""
        return bool(self._paged or self.behind)

    @property
    def gap(self) -> int:
        """The number of messages dropped before entries that are on disk only or being read."""
        return sum(self._gaps.values()) + sum(slice_.gap for slice_ in (*self.coming, *self.void))

    def messages_until(self, number: int) -> int:
        """Return the number of messages of the slices with numbers up to `number`."""
        rows = (self.coming, self.void, self.behind)
        known = sum(p.messages for row in rows for p in row if p.number <= number)
        return known + self._paged.messages_until(number)

    def page(self, slice_: EnvelopeSlice, size: int, messages: int, void_at: int) -> None:
        """Keep the slice on disk only.

        `void_at` is when all its messages have expired (ns since 1970); 0 = never.
        """
        stored, number = slice_.stored, slice_.number
        if slice_.gap:
            self._gaps[number] = slice_.take_gap()
        if slice_.indices is not None:
            self._parts[number] = slice_.indices, stored.size, absent(stored.envelope, void_at)
        self._paged.add(stored.position, number, messages, size, void_at)
        self.bytes += size
        self._paging.page_out(stored)

    def keep_in_memory(self, slice_: EnvelopeSlice) -> None:
        self.behind.append(slice_)
        self.bytes += slice_.size

    def remove_slice(self, slice_: EnvelopeSlice) -> bool:
        if slice_ not in self.behind:
            return False
        self.behind.remove(slice_)
        self.bytes -= slice_.size
        return True

    def lose(self, gone: Collection[EnvelopeSlice]) -> None:
        lost = [slice_ for slice_ in self.behind if slice_ in gone]
        if lost:
            self.behind = deque(slice_ for slice_ in self.behind if slice_ not in gone)
            self.bytes -= sum(slice_.size for slice_ in lost)

    def move_next(self, size: int, most: int) -> list[EnvelopeSlice]:
        """Move the next slices to be read to `coming`, and return `coming`.

        At most `most` slices are read, with about `size` bytes in total: the last slice may exceed `size`.
        """
        while self._paged and size > 0 and len(self.coming) < most:
            self.coming.append(self._slice(self._paged.pop()))
            size -= self.coming[-1].size
        return self.coming

    def take_loaded(self) -> list[EnvelopeSlice]:
        """Remove and return the slices that were read, and those in memory before the next entry on disk."""
        ready, self.coming = self.coming, []
        while self.behind and self.behind[0].number < (self._paged.first or inf):
            ready.append(self.behind.popleft())
        self.bytes -= sum(slice_.size for slice_ in ready)
        return ready

    def next_void(self, wall: int, most: int, size: float) -> list[EnvelopeSlice]:
        """Move expired slices to `void`, to be read from disk, and return them.

        About `most` slices with about `size` bytes are moved: the rest of a page may exceed `most`, and one
        slice may exceed `size`. `wall` is in ns since 1970.
        """
        self.void = [self._slice(row) for row in self._paged.take_void(wall, most, size)]
        return self.void

    def void_came(self) -> list[EnvelopeSlice]:
        void, self.void = self.void, []
        self.bytes -= sum(slice_.size for slice_ in void)
        return void

    def take_all(self) -> list[EnvelopeSlice]:
        """Return all slices in order. This object must not be used afterwards.

        A slice that was not in memory may have a placeholder for its envelope.
        """
        slices = [*self.coming, *self.void, *self.behind]
        while self._paged:
            slices.append(self._slice(self._paged.pop()))
        return sorted(slices, key=_number)

    def leave_gap(self, gap: int, number: int) -> bool:
        """Add `gap` to the first slice with a number above `number`.

        Return False if there is no such slice.
        """
        others = (p for row in (self.coming, self.behind, self.void) for p in row if p.number > number)
        first, paged = min(others, key=_number, default=None), self._paged.first_behind(number)
        if paged and (first is None or paged < first.number):
            self._gaps[paged] = self._gaps.get(paged, 0) + gap
        elif first is not None:
            first.gap += gap
        return bool(paged or first)

    def _slice(self, row: EntryRow) -> EnvelopeSlice:
        position, count, size, number, void_at = row
        indices, stub = None, nameless(count, void_at)
        if number in self._parts:
            indices, size, stub = self._parts.pop(number)
        stored = self._paging.page_in(position, size, stub)
        return EnvelopeSlice(stored, indices, waiting=True, number=number, gap=self._gaps.pop(number, 0))


def _number(slice_: EnvelopeSlice) -> int:
    return slice_.number
