"""The slices that wait for a subscriber's credit, in memory or on disk only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import inf

from mesh.routing.disk_backlog import DiskBacklog
from mesh.routing.envelope_slice import EnvelopeSlice, EnvelopeSlices
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.paging import Paging
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope

MOST = 1024  # most envelopes in one read


class Backlog(EnvelopeSlices):
    """The waiting slices of one subscriber.

    The caller enforces the limits, with `has_place` and `has_room`. The slices in `_row` are sent next. Those
    in `away` follow, and most of them are on disk only. Without `paging` all slices are in memory.
    """

    def __init__(self, credit: Credit, overflow: Overflow, paging: Paging | None = None) -> None:
        super().__init__()
        self.away: DiskBacklog | None = None
        # Bytes and messages of waiting initial values, which do not count against the limits.
        self._first = [0, 0]
        self.void_at: Callable[[Envelope], int] = lambda envelope: 0  # expiry of all messages
        self._credit = credit
        self._oldest_go = overflow is Overflow.DROP_OLDEST
        self._paging = paging

    def __len__(self) -> int:
        return len(self._row) if self.away is None else len(self._row) + len(self.away)

    def __bool__(self) -> bool:
        return self.bytes > 0  # each message counts some bytes

    def __iter__(self) -> Iterator[EnvelopeSlice]:
        """Iterate over the slices in memory."""
        return iter(self._row) if self.away is None else chain(self._row, self.away.behind)

    @property
    def is_ready(self) -> bool:
        return bool(self._row)

    @property
    def gap(self) -> int:
        """The number of messages dropped before waiting slices and not reported yet."""
        return sum(slice_.gap for slice_ in self) + (self.away.gap if self.away is not None else 0)

    def resize(self, credit: Credit) -> None:
        self._credit = credit

    def append(self, slice_: EnvelopeSlice, is_awaited: bool = False) -> None:
        """Append a slice, which may then wait on disk only.

        A slice of this node's log is paged out if memory is full, if earlier slices are on disk, or if its
        envelope is not in memory. With `is_awaited`, the publisher waits for the slice and sends little
        meanwhile, so an envelope in memory stays there.
        """
        stored = slice_.stored
        size, messages = slice_.size, slice_.messages
        self.bytes += size
        self.messages += messages
        if slice_.is_first:
            self._count_first(slice_, +1)
        away, paging = self.away, self._paging if stored.own and stored.position else None
        if paging is not None:
            is_here = stored.is_here
            # Entries behind others on disk go to the disk, too.
            if not is_here or (not is_awaited and (away is not None or paging.is_full_for(stored))):
                if away is None:
                    away = self.away = DiskBacklog(paging)
                e = stored.envelope
                away.page(slice_, size, messages, self.void_at(e) if is_here else e.expires)
                return
            paging.count_in_memory(stored, +1)
        slice_.waiting = True
        if away is None:
            self._row.append(slice_)
        else:
            away.keep_in_memory(slice_)

    def messages_until(self, number: int) -> int:
        away = self.away.messages_until(number) if self.away is not None else 0
        return super().messages_until(number) + away

    def pop(self) -> EnvelopeSlice:
        """Remove and return the first slice, which must be ready."""
        return self._less(self._row.popleft())

    def remove_slice(self, slice_: EnvelopeSlice) -> EnvelopeSlice:
        if self.away is not None and self.away.remove_slice(slice_):
            return self._less(slice_)
        return super().remove_slice(slice_)

    def take_void(self, is_void: Callable[[EnvelopeSlice], bool]) -> list[EnvelopeSlice]:
        """Remove and return the slices in memory that `is_void` selects."""
        void = [slice_ for slice_ in self if slice_.stored.is_here and is_void(slice_)]
        if void:
            gone = set(void)
            self._row = deque(slice_ for slice_ in self._row if slice_ not in gone)
            if self.away is not None:
                self.away.lose(gone)
        return [self._less(slice_) for slice_ in void]

    def take_all(self) -> list[EnvelopeSlice]:
        """Remove and return all slices.

        A slice that was not in memory may have a placeholder for its envelope.
        """
        for slice_ in self:
            self._uncount(slice_.stored)
        slices = super().take_all()
        if self.away is not None:
            slices += self.away.take_all()
            self.away = None
        self._first = [0, 0]
        for slice_ in slices:
            slice_.waiting = False
        return slices

    def fetch(self, then: Callable[[], None]) -> None:
        """Read more slices from disk if the ready ones do not fill the credit.

        `then` is called after the read, perhaps before this method returns. It is not called if nothing is to
        be read, if a read is in progress, or if the store fails.
        """
        away, paging, credit = self.away, self._paging, self._credit
        if away is None or paging is None or away.coming or not away.has_next:
            return
        if self.bytes - away.bytes >= credit.bytes or len(self._row) >= credit.items:
            return
        coming = away.move_next(credit.bytes, min(credit.items, MOST))

        def came(here: list[EnvelopeSlice]) -> None:
            if self.away is away and away.coming is coming:  # false after `take_all`
                self._count(coming)
                self._ready(away.take_loaded())
            then()

        paging.have(coming, came)

    def fetch_void(self, wall: int, then: Callable[[], None], size: float = inf) -> None:
        """Read expired slices of about `size` bytes from disk.

        `then` is called after the read, perhaps before this method returns. It is not called if no
        slice has expired, if such a read is in progress, or if the store fails. `wall` is in ns since 1970.
        """
        away, paging = self.away, self._paging
        if away is None or paging is None or away.void:
            return
        void = away.next_void(wall, MOST, size)

        def came(here: list[EnvelopeSlice]) -> None:
            if self.away is away and away.void is void:
                self._count(void)
                self._ready(away.void_came())
            then()

        if void:
            paging.have(void, came)

    def _count(self, slices: Iterable[EnvelopeSlice]) -> None:
        for slice_ in slices:
            if (paging := self._paging_of(slice_.stored)) is not None:
                paging.count_in_memory(slice_.stored, +1)

    def _ready(self, slices: list[EnvelopeSlice]) -> None:
        self._row = deque(sorted((*self._row, *slices), key=lambda slice_: slice_.number))
        if not self.away:
            self.away = None

    def leave_gap(self, gap: int, number: int = 0) -> bool:
        """Add `gap` to the first slice with a number above `number`.

        Return False if there is no such slice.
        """
        first = next((slice_ for slice_ in self._row if slice_.number > number), None)
        if first is not None:
            first.gap += gap
        return first is not None or (self.away is not None and self.away.leave_gap(gap, number))

    @property
    def has_place(self) -> bool:
        """Whether another persistent slice or initial value may wait."""
        return self.bytes < self._credit.backlog

    def has_room(self, slice_: EnvelopeSlice, is_slow: bool) -> bool:
        """Return whether a transient slice may wait.

        With `is_slow` the limit of bytes is that of persistent slices. Initial values do not count, and a
        slice with more messages than the limit may wait alone.
        """
        credit, (first_bytes, first_messages) = self._credit, self._first
        waiting = self.messages - first_messages
        if credit.messages and waiting + slice_.messages > credit.messages and waiting:
            return False
        return self.bytes - first_bytes < (credit.backlog if is_slow else credit.bytes)

    def giving_way_to(self, slice_: EnvelopeSlice) -> EnvelopeSlice | None:
        """Return the oldest slice that may be dropped to make room for a new one, or None.

        A slice is dropped only under the policy DROP_OLDEST and for a transient `slice_`. Only a transient
        slice is dropped, only if it is in memory, and never one with initial values.
        """
        if not self._oldest_go or slice_.is_persistent:
            return None
        return next((each for each in self if not (each.is_persistent or each.is_first)), None)

    # --- internals --------------------------------------------------------------------------------------

    def _paging_of(self, stored: StoredEnvelope) -> Paging | None:
        return self._paging if stored.own and stored.position else None

    def _uncount(self, stored: StoredEnvelope) -> None:
        paging = self._paging_of(stored)
        if paging is not None:
            paging.count_in_memory(stored, -1)

    def _count_first(self, slice_: EnvelopeSlice, sign: int) -> None:
        self._first[0] += sign * slice_.size
        self._first[1] += sign * slice_.messages

    def _less(self, slice_: EnvelopeSlice) -> EnvelopeSlice:
        slice_.waiting = False
        if slice_.is_first:
            self._count_first(slice_, -1)
        self._uncount(slice_.stored)
        return super()._less(slice_)
