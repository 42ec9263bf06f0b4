"""Which of its segments must a node delete? Safe ones before unread ones, old ones before young ones."""

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
        self.gone = 0  # of them, from the front

    def goes_on_with(self, segment: Segment) -> bool:
        first = self.first
        number = first.name.number + len(self.sizes)
        return first.hour == segment.hour and replace(first.name, number=number) == segment.name

    def __iter__(self) -> Iterator[Segment]:
        first = self.first
        for at in range(self.gone, len(self.sizes)):
            yield Segment(replace(first.name, number=first.name.number + at), first.hour, self.sizes[at])


class Pile:
    """Segments, the oldest in front. Of a node with little to say they become a hundred thousand in time:
    here each takes 8 bytes, and not 300."""

    def __init__(self) -> None:
        self.bytes = 0
        self._rows: deque[_Row] = deque()

    def add(self, segment: Segment) -> None:
        """At the end; `sort` follows if it may not belong there."""
        if not self._rows or not self._rows[-1].goes_on_with(segment):
            self._rows.append(_Row(segment))
        self._rows[-1].sizes.append(segment.bytes)
        self.bytes += segment.bytes

    def sort(self) -> None:
        """Not by the hour of the directory: a clock can go back, the counters cannot."""
        self._rows = deque(sorted(self._rows, key=lambda row: (row.first.name.boot, row.first.name.number)))

    def pop(self) -> Segment:
        """Take away the oldest."""
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
    """A node's own closed segments, those that are safe elsewhere apart from the rest.

    They are all of one uuid; what others wrote into the same directory is never given to it.
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
        """Of all of them."""
        return self._safe.bytes + self._unread.bytes

    def __iter__(self) -> Iterator[Segment]:
        yield from self._safe
        yield from self._unread

    def add(self, segment: Segment) -> None:
        """One was closed, later than all others."""
        self._unread.add(segment)

    def must_drop(self, limit: int) -> bool:
        """Would unread ones have to go, so that no more than `limit` bytes are held?"""
        return self._unread.bytes > limit

    def take(self, limit: int) -> tuple[list[Segment], list[Segment]]:
        """The segments that must go: safe ones, and unread ones. They are held no more."""
        safe, unread = [], []
        while self._safe and self.bytes > limit:
            safe.append(self._safe.pop())
        while self._unread and self.bytes > limit:
            unread.append(self._unread.pop())
        return safe, unread
