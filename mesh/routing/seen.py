"""Which numbers of each stream have been handed on here? All of them, not the highest: of masters that take
one after the other, one that was away brings later what was before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from mesh.streams.ranges import Ranges
from mesh.wire.envelope import Envelope

STREAMS = 1_000  # of publishers, that were heard of last
RANGES = 256  # of each: below the lowest of these nothing is known, and what comes is new

LaneKey = tuple[bytes, str]


class Seen:
    """The numbers of streams in domains, within bounds: of what is forgotten something may come twice."""

    def __init__(self) -> None:
        self._lanes: OrderedDict[LaneKey, Ranges] = OrderedDict()

    def is_new(self, e: Envelope, number: int) -> bool:
        """Has it not been handed on? From now on it has."""
        ranges = self._of(e)
        if ranges.covers(number, number):
            return False
        self._add(ranges, number, number)
        return True

    def add(self, e: Envelope) -> None:
        """All of it is handed on."""
        ranges = self._of(e)
        for first, last in e.ranges():
            self._add(ranges, first, last)

    def lost(self, e: Envelope, indices: Iterable[int]) -> None:
        """These of its messages were not handed on after all."""
        ranges = self._of(e)
        for number in e.number_list(indices):
            ranges.remove(number, number)

    def _of(self, e: Envelope) -> Ranges:
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
