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
        return sum(portion.gap for portion in self) + (self.away.gap if self.away is not None else 0)

    def resize(self, credit: Credit) -> None:
        self._credit = credit

    def append(self, portion: EnvelopeSlice, is_awaited: bool = False) -> None:
        """Append a slice, which may then wait on disk only.

        A slice of this node's log is paged out if memory is full, if earlier slices are on disk, or if its
        envelope is not in memory. With `is_awaited`, the publisher waits for the slice and sends little
        meanwhile, so an envelope in memory stays there.
        """
        parcel = portion.parcel
        size, messages = portion.size, portion.messages
        self.bytes += size
        self.messages += messages
        if portion.is_first:
            self._count_first(portion, +1)
        away, paging = self.away, self._paging if parcel.own and parcel.position else None
        if paging is not None:
            is_here = parcel.is_here
            # Entries behind others on disk go to the disk, too.
            if not is_here or (not is_awaited and (away is not None or paging.is_full_for(parcel))):
                if away is None:
                    away = self.away = DiskBacklog(paging)
                e = parcel.envelope
                away.page(portion, size, messages, self.void_at(e) if is_here else e.expires)
                return
            paging.count_in_memory(parcel, +1)
        portion.waiting = True
        if away is None:
            self._row.append(portion)
        else:
            away.keep_in_memory(portion)

    def pop(self) -> EnvelopeSlice:
        """Remove and return the first slice, which must be ready."""
        return self._less(self._row.popleft())

    def remove(self, portion: EnvelopeSlice) -> EnvelopeSlice:
        if self.away is not None and self.away.remove(portion):
            return self._less(portion)
        return super().remove(portion)

    def take_void(self, is_void: Callable[[EnvelopeSlice], bool]) -> list[EnvelopeSlice]:
        """Remove and return the slices in memory that `is_void` selects."""
        void = [portion for portion in self if portion.parcel.is_here and is_void(portion)]
        if void:
            gone = set(void)
            self._row = deque(portion for portion in self._row if portion not in gone)
            if self.away is not None:
                self.away.lose(gone)
        return [self._less(portion) for portion in void]

    def take_all(self) -> list[EnvelopeSlice]:
        """Remove and return all slices.

        A slice that was not in memory may have a placeholder for its envelope.
        """
        for portion in self:
            self._uncount(portion.parcel)
        portions = super().take_all()
        if self.away is not None:
            portions += self.away.take_all()
            self.away = None
        self._first = [0, 0]
        for portion in portions:
            portion.waiting = False
        return portions

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
        coming = away.next(credit.bytes, min(credit.items, MOST))

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

    def _count(self, portions: Iterable[EnvelopeSlice]) -> None:
        for portion in portions:
            if (paging := self._paging_of(portion.parcel)) is not None:
                paging.count_in_memory(portion.parcel, +1)

    def _ready(self, portions: list[EnvelopeSlice]) -> None:
        self._row = deque(sorted((*self._row, *portions), key=lambda portion: portion.number))
        if not self.away:
            self.away = None

    def leave_gap(self, gap: int, number: int = 0) -> bool:
        """Add `gap` to the first slice with a number above `number`.

        Return False if there is no such slice.
        """
        first = next((portion for portion in self._row if portion.number > number), None)
        if first is not None:
            first.gap += gap
        return first is not None or (self.away is not None and self.away.leave_gap(gap, number))

    @property
    def has_place(self) -> bool:
        """Whether another persistent slice or initial value may wait."""
        return self.bytes < self._credit.backlog

    def has_room(self, portion: EnvelopeSlice, is_slow: bool) -> bool:
        """Return whether a transient slice may wait.

        With `is_slow` the limit of bytes is that of persistent slices. Initial values do not count, and a
        slice with more messages than the limit may wait alone.
        """
        credit, (first_bytes, first_messages) = self._credit, self._first
        waiting = self.messages - first_messages
        if credit.messages and waiting + portion.messages > credit.messages and waiting:
            return False
        return self.bytes - first_bytes < (credit.backlog if is_slow else credit.bytes)

    def giving_way_to(self, portion: EnvelopeSlice) -> EnvelopeSlice | None:
        """Return the oldest slice that may be dropped to make room for a new one, or None.

        A slice is dropped only under the policy DROP_OLDEST and for a transient `portion`. Only a transient
        slice is dropped, only if it is in memory, and never one with initial values.
        """
        if not self._oldest_go or portion.is_persistent:
            return None
        return next((each for each in self if not (each.is_persistent or each.is_first)), None)

    # --- internals --------------------------------------------------------------------------------------

    def _paging_of(self, parcel: StoredEnvelope) -> Paging | None:
        return self._paging if parcel.own and parcel.position else None

    def _uncount(self, parcel: StoredEnvelope) -> None:
        paging = self._paging_of(parcel)
        if paging is not None:
            paging.count_in_memory(parcel, -1)

    def _count_first(self, portion: EnvelopeSlice, sign: int) -> None:
        self._first[0] += sign * portion.size
        self._first[1] += sign * portion.messages

    def _less(self, portion: EnvelopeSlice) -> EnvelopeSlice:
        portion.waiting = False
        if portion.is_first:
            self._count_first(portion, -1)
        self._uncount(portion.parcel)
        return super()._less(portion)
