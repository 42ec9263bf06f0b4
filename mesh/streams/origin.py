"""What a master has of each publisher's stream: the set of numbers it accepted, never just the highest.

A stream may be split over several masters, so the numbers that one master sees have gaps; a high-water
mark would take what went elsewhere for known, or lose what comes late (see docs/design.md).
"""

from mesh.errors import StaleSequence
from mesh.streams.ranges import Ranges

MAX_RANGES = 1024  # envelopes in a client's window, so nothing in flight is ever forgotten


class OriginStream:
    """Numbers accepted from one (client session, domain)."""

    def __init__(self, low: int = 1, above: Ranges | None = None) -> None:
        self.low = low  # everything below is settled with the publisher
        self.above = above or Ranges()
        self._forgotten = 1  # below this, holes are no longer known as holes

    def accept(self, first: int, last: int, low: int) -> list[tuple[int, int]]:
        """The part of first..last that is new, now recorded; empty = a repeat.

        Raises StaleSequence for a resend so old that whether it is known cannot be said any more.
        """
        if low > self.low:
            self._settle(low)
        start = max(first, self.low)
        if last < start:
            return []
        if start < self._forgotten and not self.above.covers(start, last):
            raise StaleSequence(
                f"numbers {first}..{last} are older than what is remembered of this stream "
                f"(from {self._forgotten})."
            )
        fresh = self.above.missing(start, last)
        if fresh:
            self.above.add(start, last)
            self._bound()
        return fresh

    def _settle(self, low: int) -> None:
        # What lies below low was answered, so the publisher never sends it again: no hole there matters.
        self.above.drop_below(low)
        self.low = low

    def _bound(self) -> None:
        if len(self.above) > MAX_RANGES:
            self._forgotten = self.above.drop_lowest() + 1

    def withdraw(self, first: int, last: int) -> None:
        """Numbers that were accepted, but could not be stored: they are open again."""
        kept = [(a, b) for a, b in self.above if b < first or a > last]
        split = [(a, first - 1) for a, b in self.above if a < first <= b]
        split += [(last + 1, b) for a, b in self.above if a <= last < b]
        self.above = Ranges()
        for a, b in sorted(kept + split):
            self.above.add(a, b)

    def pack(self) -> bytes:
        """As stored: low, the mark of what was forgotten, the ranges."""
        return self.low.to_bytes(8) + self._forgotten.to_bytes(8) + self.above.pack()

    @classmethod
    def unpack(cls, data: bytes) -> "OriginStream":
        stream = cls(int.from_bytes(data[:8]), Ranges.unpack(data[16:]))
        stream._forgotten = int.from_bytes(data[8:16])
        return stream
