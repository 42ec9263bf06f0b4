"""State of each publisher's stream at a master: the set of accepted numbers, not just the highest.

A stream may be split over several masters, so the numbers at one master have gaps. A high-water mark would
treat numbers at other masters as known, or lose late ones (see docs/decisions/004-ranges.md).
"""

import struct
from collections.abc import Iterable
from typing import Self

from mesh.errors import RemoteError, StaleSequence, StoreError
from mesh.streams.ranges import Ranges

_NUMBERS = struct.Struct(">3Q")
HEAD, RANGE = 24, 16  # bytes of the stored form
HALF = 32  # bits of a number
# As many as envelopes in a client's window, so that nothing in flight is forgotten.
MAX_RANGES = 1024


class OriginStream:
    """The state of one (client session, domain): its accepted numbers and its refused numbers."""

    def __init__(self, low: int = 1, above: Ranges | None = None) -> None:
        self.low = low  # everything below is settled with the publisher
        self.above = above or Ranges()
        # Numbers refused permanently, for lack of room or of a receiver: later ones may have been accepted.
        self.refused = Ranges()
        # Numbers that another master has for durable subscriptions; None: none. See `mark_second`.
        self.second: Ranges | None = None
        self._forgotten = 1  # below this, holes are forgotten

    def accept_numbers(self, first: int, last: int, low: int) -> list[tuple[int, int]]:
        """Record the numbers first..last, and return the ranges that are new; [] means a duplicate.

        Raises StaleSequence for a resend so old that its state is forgotten.
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

    def is_new(self, first: int, last: int) -> bool:
        """Return whether none of the numbers was accepted, refused, settled or forgotten."""
        known = self.above.overlaps(first, last) or self.refused.overlaps(first, last)
        return first >= max(self.low, self._forgotten) and not known

    def _check_known(self, first: int, last: int) -> None:
        if first < self._forgotten and not self.above.covers(first, last):
            which = f"Message {first}" if first == last else f"Messages {first} to {last}"
            raise StaleSequence(
                f"{which} of this stream may have been accepted before: the master remembers the stream only "
                f"from number {self._forgotten} on.",
                hint="Publish the message as a new one, if receivers tolerate duplicates.",
            )

    def settle(self, low: int) -> None:
        """Treat all numbers below `low` as known: they were answered, so the publisher never resends them.

        Missing numbers among them do not matter, because other nodes may have accepted them.
        """
        self.above.drop_below(low)
        self.refused.drop_below(low)
        self.low = low

    def _bound(self) -> None:
        if len(self.above) > MAX_RANGES:
            self._forgotten = self.above.drop_lowest() + 1

    def refuse_numbers(self, first: int, last: int) -> None:
        """Permanently refuse accepted numbers whose messages could not be passed on."""
        self.above.remove(first, last)
        self.give_up(first, last)

    def give_up(self, first: int, last: int) -> None:
        self.refused.add(first, last)
        if len(self.refused) > MAX_RANGES:
            self.refused.drop_lowest()

    def mark_second(self, runs: Iterable[tuple[int, int]]) -> None:
        """Mark accepted numbers that another master also has, for durable subscriptions."""
        second = self.second = self.second or Ranges()
        second.drop_below(self.low)
        for first, last in runs:
            second.add(first, last)
        if len(second) > MAX_RANGES:
            second.drop_lowest()

    def take_second(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the marked part of first..last, and remove the marks."""
        if self.second is None:
            return []
        taken = self.second.remove(max(first, self.low), last) if last >= self.low else []
        self.second = self.second or None
        return taken

    def pack(self) -> bytes:
        """Return the stored form.

        It contains `low`, the mark of forgotten holes, the number of ranges in `above` and (upper half) in
        `second`, then the ranges of `above`, `refused` and `second`.
        """
        ranges = self.above.pack() + self.refused.pack()
        if self.second is None:
            return _NUMBERS.pack(self.low, self._forgotten, len(self.above)) + ranges
        count = len(self.above) | len(self.second) << HALF
        return _NUMBERS.pack(self.low, self._forgotten, count) + ranges + self.second.pack()

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Return the stream from its stored form. Raises: StoreError, if it is invalid."""
        if len(data) >= RANGE and len(data) % RANGE == 0:  # stored by a release without refusals
            data = data[:RANGE] + (len(data) // RANGE - 1).to_bytes(8) + data[RANGE:]
        if len(data) < HEAD:
            raise _damaged(data)
        low, forgotten, count = struct.unpack_from(">3Q", data)
        end = HEAD + RANGE * (count & (1 << HALF) - 1)
        begin = len(data) - RANGE * (count >> HALF)  # start of `second`
        if not end <= begin:
            raise _damaged(data)
        try:
            stream = cls(low, Ranges.unpack(data[HEAD:end]))
            stream.refused = Ranges.unpack(data[end:begin])
            stream.second = Ranges.unpack(data[begin:]) if begin < len(data) else None
        except RemoteError as error:
            raise _damaged(data) from error
        stream._forgotten = forgotten
        return stream


def _damaged(data: bytes) -> StoreError:
    why = f"the stored state of a stream is truncated or invalid ({len(data)} bytes)"
    what = f"A store of this node is damaged: {why}."
    return StoreError(what, hint="Restore the node from a backup: mesh backup restore FILE --replace")
