"""Numbers of each stream that have been handed on here.

The highest number alone is not enough: a master that replaces another may deliver lower numbers later.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from mesh.streams.ranges import Ranges
from mesh.wire.envelope import Envelope

STREAMS = 1_000  # most recently used publisher streams
# Ranges of each stream. Below the lowest of these, every number counts as new.
RANGES = 256

LaneKey = tuple[bytes, str]


class Seen:
    """Numbers by stream and domain, within limits: forgotten numbers may be delivered twice."""

    def __init__(self) -> None:
        self._lanes: OrderedDict[LaneKey, Ranges] = OrderedDict()

    def is_new(self, e: Envelope, number: int) -> bool:
        """Return whether the number is new, and mark it as handed on."""
        ranges = self._ranges_of(e)
        if ranges.covers(number, number):
            return False
        self._add(ranges, number, number)
        return True

    def add(self, e: Envelope) -> None:
        ranges = self._ranges_of(e)
        for first, last in e.ranges():
            self._add(ranges, first, last)

    def forget_messages(self, e: Envelope, indices: Iterable[int]) -> None:
        """Mark the messages at `indices` as not handed on."""
        ranges = self._ranges_of(e)
        for number in e.number_list(indices):
            ranges.remove(number, number)

    def _ranges_of(self, e: Envelope) -> Ranges:
        lane = e.stream, e.domain
        ranges = self._lanes.get(lane)
        if ranges is None:
            ranges = self._lanes[lane] = Ranges()
            if len(self._lanes) > STREAMS:
                self._lanes.popitem(last=False)
        else:
            self._lanes.move_to_end(lane)
        return ranges

    def _add(self, ranges: Ranges, first: int, last: int) -> None:
        ranges.add(first, last)
        if len(ranges) > RANGES:
            ranges.drop_lowest()
