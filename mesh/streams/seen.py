"""Did this subscriber have it already? Tells repeats from news, by stream and number."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from mesh.streams.ranges import Ranges

# Law 1: what an origin has brought, and brings again, is a repeat, as long as the stream is remembered.
# Law 2: what nobody has brought is news, in whatever order several origins bring it.
# Law 3: forgetting may let a repeat through from *another* origin; it never makes news of one origin
#        a repeat, as long as each origin's news come in growing order. News out of order within one
#        origin (a tail-back queue flushed late) is known for news as far down as the ranges reach.
# Law 4: what stands in an origin's log comes in the order of that log, but for what is given again after a
#        crash. So what comes from a place that was passed is had, or was dropped for this subscriber.


@dataclass(slots=True)
class _Stream:
    """The numbers that have come of one stream. At or below `forgotten` the ranges no longer say which."""

    ranges: Ranges = field(default_factory=Ranges)
    forgotten: int = 0
    highs: dict[Hashable, int] = field(default_factory=dict)  # origin -> highest number it has brought


class SeenMessages:
    """The messages that one subscription already has.

    A stream is one publisher session in one domain; an origin is the master that delivers it (its
    uuid: a restarted master goes on with the same numbers). At most `ranges` ranges are kept a
    stream, and the `streams` streams that were last heard of.
    """

    def __init__(self, streams: int = 10_000, ranges: int = 256) -> None:
        self._most_streams = streams
        self._most_ranges = ranges
        self._streams: OrderedDict[Hashable, _Stream] = OrderedDict()
        # origin -> twice the highest position in its log that it has brought, and 1 more if that is passed
        self._places: dict[Hashable, int] = {}

    def fresh(self, origin: Hashable, stream: Hashable, first: int, last: int) -> list[tuple[int, int]]:
        """The ranges of first..last that are new, which from now on are not; empty when all are repeats.

        ValueError if first..last is no range of numbers from 1.
        """
        if not 1 <= first <= last:
            raise ValueError(f"{first}..{last} is not a range of numbers from 1")
        known = self._stream(stream)
        ranges, highs = known.ranges, known.highs
        if first > ranges.top():
            new = [(first, last)]
        else:
            # Below both marks the origin's own high speaks for the ranges that were forgotten.
            unsure = min(highs.get(origin, 0), known.forgotten) + 1
            new = ranges.missing(max(first, unsure), last)
        for new_first, new_last in new:
            ranges.add(new_first, new_last)
        while len(ranges) > self._most_ranges:
            known.forgotten = max(known.forgotten, ranges.drop_lowest())
        if last > highs.get(origin, 0):
            highs[origin] = last
        return new

    def has_passed(self, origin: Hashable, position: int, persistent: bool, is_direct: bool = False) -> bool:
        """Did anything come already from behind this place in the log of that origin?

        What is not persistent stands in no log: its position is the last one that went before it. 0: none.
        That place is passed if `is_direct`: the origin itself has brought it. Of two ways each may bring a
        part of an envelope, and the other one its part later.
        """
        place, last = 2 * position + (is_direct and not persistent), self._places.get(origin, 0)
        self._places[origin] = max(place, last)
        return persistent and 0 < place < last

    def top(self, stream: Hashable) -> int:
        """The highest number that anybody has brought; 0 without any."""
        known = self._streams.get(stream)
        return known.ranges.top() if known else 0

    def high(self, origin: Hashable, stream: Hashable) -> int:
        """The highest number of the stream that this origin has brought; 0 without any."""
        known = self._streams.get(stream)
        return known.highs.get(origin, 0) if known else 0

    def _stream(self, stream: Hashable) -> _Stream:
        known = self._streams.get(stream)
        if known is None:
            known = self._streams[stream] = _Stream()
            if len(self._streams) > self._most_streams:
                self._streams.popitem(last=False)
        else:
            self._streams.move_to_end(stream)
        return known
