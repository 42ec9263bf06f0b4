"""Selects the segments that a node deletes: segments that are safe elsewhere, then others; oldest first."""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from mesh.snapshots.marker import Marker
from mesh.snapshots.segment import Segment


class _Row:
    """Segments of one boot in one hour, with consecutive numbers."""

    def __init__(self, first: Segment) -> None:
        self.first = first
        self.sizes = array("Q")
        self.gone = 0  # removed segments at the front

    def goes_on_with(self, segment: Segment) -> bool:
        first = self.first
        number = first.name.number + len(self.sizes)
        return first.hour == segment.hour and replace(first.name, number=number) == segment.name

    def __iter__(self) -> Iterator[Segment]:
        first = self.first
        for at in range(self.gone, len(self.sizes)):
            yield Segment(replace(first.name, number=first.name.number + at), first.hour, self.sizes[at])


class Pile:
    """Segments, the oldest first, at 8 bytes each instead of 300: there may be a hundred thousand."""

    def __init__(self) -> None:
        self.bytes = 0
        self._rows: deque[_Row] = deque()

    def add(self, segment: Segment) -> None:
        """Append a segment. Call `sort` if it may not belong at the end."""
        if not self._rows or not self._rows[-1].goes_on_with(segment):
            self._rows.append(_Row(segment))
        self._rows[-1].sizes.append(segment.bytes)
        self.bytes += segment.bytes

    def sort(self) -> None:
        """Sort by boot and number, not by hour: a clock can be set back."""
        self._rows = deque(sorted(self._rows, key=lambda row: (row.first.name.boot, row.first.name.number)))

    def pop(self) -> Segment:
        row = self._rows[0]
        segment = next(iter(row))
        row.gone += 1
        if row.gone == len(row.sizes):
            self._rows.popleft()
        self.bytes -= segment.bytes
        return segment

    def __bool__(self) -> bool:
        return bool(self._rows)

    def __iter__(self) -> Iterator[Segment]:
        for row in self._rows:
            yield from row


class ClosedSegments:
    """A node's own closed segments, in two sets: segments that are safe elsewhere and the rest.

    All have the same uuid. Segments of other nodes in the same directory are never passed in.
    """

    def __init__(self, segments: Iterable[Segment] = (), markers: Iterable[Marker] = ()) -> None:
        markers = tuple(markers)
        self._safe, self._unread = Pile(), Pile()
        for segment in segments:
            is_safe = any(marker.covers(segment.name) for marker in markers)
            (self._safe if is_safe else self._unread).add(segment)
        self._safe.sort()
        self._unread.sort()

    @property
    def bytes(self) -> int:
        return self._safe.bytes + self._unread.bytes

    def __iter__(self) -> Iterator[Segment]:
        yield from self._safe
        yield from self._unread

    def add(self, segment: Segment) -> None:
        """Add a segment that was closed after all others."""
        self._unread.add(segment)

    def must_drop(self, limit: int) -> bool:
        """Return whether unread segments must be deleted to keep at most `limit` bytes."""
        return self._unread.bytes > limit

    def take_surplus(self, limit: int) -> tuple[list[Segment], list[Segment]]:
        """Remove and return the segments to delete: the safe ones, and the unread ones.

        The remaining segments have at most `limit` bytes in total.
        """
        safe, unread = [], []
        while self._safe and self.bytes > limit:
            safe.append(self._safe.pop())
        while self._unread and self.bytes > limit:
            unread.append(self._unread.pop())
        return safe, unread
