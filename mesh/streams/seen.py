"""Deduplication for a subscriber, by stream and number."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from mesh.streams.ranges import Ranges

# Law 1: a message that an origin delivers again is a duplicate, as long as the stream is remembered.
# Law 2: a message that no origin has delivered is new, in whatever order several origins deliver.
# Law 3: forgetting may let through a duplicate from *another* origin. It never makes a new message of one
# origin a duplicate, as long as each origin delivers new messages in ascending order. New messages out of
# order within one origin (a late flush of an outbound buffer) are recognized as far down as the ranges reach.
# Law 4: messages in an origin's log arrive in log order, except for those resent after a crash. A message
# from a passed position was therefore received, or dropped for this subscriber.


@dataclass(slots=True)
class _Stream:
    """The received numbers of one stream. At or below `forgotten` the ranges are incomplete."""

    ranges: Ranges = field(default_factory=Ranges)
    forgotten: int = 0
    highs: dict[Hashable, int] = field(default_factory=dict)  # origin: highest number it has delivered


class SeenMessages:
    """The messages that one subscription has received.

    A stream is one publisher session in one domain. An origin is the master that delivers it (its uuid: a
    restarted master continues the numbers). At most `ranges` ranges are kept for each of the `streams` most
    recently used streams.
    """

    def __init__(self, streams: int = 10_000, ranges: int = 256) -> None:
        self._most_streams = streams
        self._most_ranges = ranges
        self._streams: OrderedDict[Hashable, _Stream] = OrderedDict()
        # origin: twice the highest delivered position of its log, plus 1 if that is passed
        self._places: dict[Hashable, int] = {}

    def fresh(self, origin: Hashable, stream: Hashable, first: int, last: int) -> list[tuple[int, int]]:
        """Return the new ranges of first..last and record them; empty if all are duplicates.

        Raises ValueError if first..last is no range of numbers from 1.
        """
        if not 1 <= first <= last:
            raise ValueError(f"{first}..{last} is not a range of numbers from 1")
        known = self._stream(stream)
        ranges, highs = known.ranges, known.highs
        if first > ranges.top():
            new = [(first, last)]
        else:
            # Numbers up to both marks count as known: each origin delivers in ascending order (Law 3).
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
        """Return whether a message with a later position in the origin's log has arrived.

        The position of this message is recorded. A transient message is in no log: its `position` is the last
        one before it (0: none), and the result is False. If the origin itself delivered a transient message
        (`is_direct`), its `position` has passed. Over another route, a part of the envelope at that position
        may still follow.
        """
        place, last = 2 * position + (is_direct and not persistent), self._places.get(origin, 0)
        self._places[origin] = max(place, last)
        return persistent and 0 < place < last

    def positions(self) -> dict[bytes, int]:
        """Return the highest position that has arrived of each origin's log, by the id of the origin."""
        places = self._places.items()
        return {origin: place // 2 for origin, place in places if place > 1 and isinstance(origin, bytes)}

    def top(self, stream: Hashable) -> int:
        """Return the highest number of the stream that any origin has delivered; 0 if there is none."""
        known = self._streams.get(stream)
        return known.ranges.top() if known else 0

    def highest(self, origin: Hashable, stream: Hashable) -> tuple[int, int]:
        """Return the highest numbers of the stream that this origin, and any, has delivered; 0: none."""
        known = self._streams.get(stream)
        return (known.highs.get(origin, 0), known.ranges.top()) if known else (0, 0)

    def _stream(self, stream: Hashable) -> _Stream:
        known = self._streams.get(stream)
        if known is None:
            known = self._streams[stream] = _Stream()
            if len(self._streams) > self._most_streams:
                self._streams.popitem(last=False)
        else:
            self._streams.move_to_end(stream)
        return known
