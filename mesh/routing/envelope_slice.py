"""A slice of a stored envelope for one subscriber, and sequences of slices with their totals."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import INITIAL
from mesh.wire.expiry import unexpired


class EnvelopeSlice(Struct, eq=False):
    """A stored envelope, or some of its messages (`indices`), for one feed."""

    stored: StoredEnvelope
    indices: tuple[int, ...] | None = None
    waiting: bool = False  # in the backlog
    number: int = 0  # order in which it was offered to the feed
    gap: int = 0  # unreported messages dropped before it
    # From a queue: earlier deliveries of each message, as u8. Empty: none.
    tries: bytes = b""

    @property
    def messages(self) -> int:
        return self.stored.envelope.count if self.indices is None else len(self.indices)

    @property
    def every(self) -> Sequence[int]:
        return range(self.stored.envelope.count) if self.indices is None else self.indices

    def holds(self, stream: bytes, domain: str, number: int) -> bool:
        """Return whether the slice contains the message; False if the envelope is on disk only."""
        e = self.stored.envelope
        if e.stream != stream or e.domain != domain or not e.first <= number <= e.last:
            return False
        return number in e.number_list(self.every)

    @property
    def size(self) -> int:
        if self.indices is None:
            return self.stored.size
        return self.stored.size * len(self.indices) // self.stored.envelope.count

    @property
    def is_persistent(self) -> bool:
        """Whether the envelope has a position in a log."""
        return self.stored.position > 0

    @property
    def is_first(self) -> bool:
        """Whether the slice is a value from before the subscription."""
        return bool(self.stored.envelope.flags & INITIAL)

    def take_gap(self) -> int:
        gap, self.gap = self.gap, 0
        return gap

    def return_gap(self, gap: int) -> None:
        self.gap += gap

    def is_void(self, wall: int) -> bool:
        """Return whether the envelope is in memory and the slice has expired at `wall` (ns since 1970)."""
        envelope = self.stored.envelope
        is_due = 0 < envelope.expires <= wall and self.stored.is_here
        return is_due and not unexpired(envelope, self.every, wall)

    def trim(self, wall: int) -> Sequence[int]:
        """Remove the messages that have expired at `wall` (ns since 1970), and return their indices."""
        envelope = self.stored.envelope
        if not 0 < envelope.expires <= wall:
            return ()
        every = self.every
        fresh = unexpired(envelope, every, wall)
        if len(fresh) == len(every):
            return ()
        if self.tries:
            kept = set(fresh)
            self.tries = bytes(n for n, index in zip(self.tries, every, strict=True) if index in kept)
        self.indices = fresh
        return sorted(set(every).difference(fresh))


class EnvelopeSlices:
    """Slices in order, with their total `bytes` and `messages`."""

    def __init__(self, slices: Iterable[EnvelopeSlice] = ()) -> None:
        self._row: deque[EnvelopeSlice] = deque()
        self.bytes = self.messages = 0
        for slice_ in slices:
            self.append(slice_)

    def __len__(self) -> int:
        return len(self._row)

    def __iter__(self) -> Iterator[EnvelopeSlice]:
        return iter(self._row)

    @property
    def first(self) -> EnvelopeSlice:
        return self._row[0]

    def append(self, slice_: EnvelopeSlice) -> None:
        self._row.append(slice_)
        self.bytes += slice_.size
        self.messages += slice_.messages

    def insert_by_position(self, slice_: EnvelopeSlice) -> None:
        """Insert a slice behind those with the same or a lower position of its master's log."""
        self.append(slice_)
        if len(self._row) > 1 and _position(self._row[-2]) > _position(slice_):  # late, by another route
            self._row.pop()
            self._row.insert(bisect_right(self._row, _position(slice_), key=_position), slice_)

    def pop(self) -> EnvelopeSlice:
        return self._less(self._row.popleft())

    def remove_slice(self, slice_: EnvelopeSlice) -> EnvelopeSlice:
        self._row.remove(slice_)
        return self._less(slice_)

    def messages_until(self, number: int) -> int:
        """Return the number of messages of the slices with numbers up to `number`."""
        return sum(slice_.messages for slice_ in self._row if slice_.number <= number)

    def take_all(self) -> list[EnvelopeSlice]:
        slices = list(self._row)
        self._row.clear()
        self.bytes = self.messages = 0
        return slices

    def _less(self, slice_: EnvelopeSlice) -> EnvelopeSlice:
        self.bytes -= slice_.size
        self.messages -= slice_.messages
        return slice_


def _position(slice_: EnvelopeSlice) -> int:
    return slice_.stored.position
