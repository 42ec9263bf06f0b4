"""What a master has of each publisher's stream: the set of numbers it accepted, never just the highest.

A stream may be split over several masters, so the numbers that one master sees have gaps; a high-water
mark would take what went elsewhere for known, or lose what comes late (see docs/decisions/004-ranges.md).
"""

import struct
from collections.abc import Iterable
from typing import Self

from mesh.errors import RemoteError, StaleSequence
from mesh.streams.ranges import Ranges

_NUMBERS = struct.Struct(">3Q")
HEAD, RANGE = 24, 16  # bytes of what is stored
HALF = 32  # bits of a number
MAX_RANGES = 1024  # envelopes in a client's window, so nothing in flight is ever forgotten


class OriginStream:
    """Numbers accepted from one (client session, domain)."""

    def __init__(self, low: int = 1, above: Ranges | None = None) -> None:
        self.low = low  # everything below is settled with the publisher
        self.above = above or Ranges()
        self.refused = (
            Ranges()
        )  # for want of room, or of a receiver; they stay so: what followed may be taken
        # Those that another master has for durable subscriptions; None: there were none. See `mark_second`.
        self.second: Ranges | None = None
        self._forgotten = 1  # below this, holes are no longer known as holes

    def accept(self, first: int, last: int, low: int) -> list[tuple[int, int]]:
        """The part of first..last that is new, now recorded; empty = a repeat.

        Raises StaleSequence for a resend so old that whether it is known cannot be said any more.
        """
        if low > self.low:
            self.settle(low)
        start = max(first, self.low)
        if last < start:
            return []
        if start < self._forgotten:
            self._check_known(start, last)
        fresh = self.above.missing(start, last)
        if fresh:
            self.above.add(start, last)
            self._bound()
        return fresh

    def _check_known(self, first: int, last: int) -> None:
        """StaleSequence when some of it may have come and been forgotten."""
        if first < self._forgotten and not self.above.covers(first, last):
            raise StaleSequence(
                f"numbers {first}..{last} are older than what is remembered of this stream "
                f"(from {self._forgotten})."
            )

    def settle(self, low: int) -> None:
        """Take all below for known: it was answered, so its publisher never sends it again, and no hole there
        matters. Another node may, where the publisher was before."""
        self.above.drop_below(low)
        self.refused.drop_below(low)
        self.low = low

    def _bound(self) -> None:
        if len(self.above) > MAX_RANGES:
            self._forgotten = self.above.drop_lowest() + 1

    def refuse(self, first: int, last: int) -> None:
        """Numbers that were accepted, and yet not taken: nobody gets them, at any later time."""
        self.above.remove(first, last)
        self.give_up(first, last)

    def give_up(self, first: int, last: int) -> None:
        """Numbers that are refused for good."""
        self.refused.add(first, last)
        if len(self.refused) > MAX_RANGES:
            self.refused.drop_lowest()

    def mark_second(self, runs: Iterable[tuple[int, int]]) -> None:
        """Numbers that are accepted, and that another master has for durable subscriptions, too."""
        second = self.second = self.second or Ranges()
        second.drop_below(self.low)
        for first, last in runs:
            second.add(first, last)
        if len(second) > MAX_RANGES:
            second.drop_lowest()

    def take_second(self, first: int, last: int) -> list[tuple[int, int]]:
        """Those of first..last that were marked so; they are not any more."""
        if self.second is None:
            return []
        taken = self.second.remove(max(first, self.low), last) if last >= self.low else []
        self.second = self.second or None
        return taken

    def pack(self) -> bytes:
        """As stored: low, the mark of what was forgotten, the numbers of ranges above and of those that
        another master has (in the upper half), these ranges above, the refused, and what another has."""
        ranges = self.above.pack() + self.refused.pack()
        if self.second is None:
            return _NUMBERS.pack(self.low, self._forgotten, len(self.above)) + ranges
        count = len(self.above) | len(self.second) << HALF
        return _NUMBERS.pack(self.low, self._forgotten, count) + ranges + self.second.pack()

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """The inverse of `pack`. RemoteError unless it is what `pack` can have made."""
        if len(data) >= RANGE and len(data) % RANGE == 0:  # as it was stored before refusals were
            data = data[:RANGE] + (len(data) // RANGE - 1).to_bytes(8) + data[RANGE:]
        if len(data) < HEAD:
            raise RemoteError(f"a packed stream of {len(data)} bytes: cut short, or not a stream.")
        low, forgotten, count = struct.unpack_from(">3Q", data)
        end = HEAD + RANGE * (count & (1 << HALF) - 1)
        begin = len(data) - RANGE * (count >> HALF)  # of what another has
        if not end <= begin:
            raise RemoteError(f"a packed stream of {len(data)} bytes: cut short, or not a stream.")
        stream = cls(low, Ranges.unpack(data[HEAD:end]))
        stream.refused = Ranges.unpack(data[end:begin])
        stream.second = Ranges.unpack(data[begin:]) if begin < len(data) else None
        stream._forgotten = forgotten
        return stream
