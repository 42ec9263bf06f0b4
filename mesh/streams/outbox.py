"""The publisher's end of its streams: numbers, a window, and envelopes to resend after a failure.

An envelope stays here until all its messages have a final answer. Numbers are assigned once, so resending by
any route cannot duplicate messages.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from mesh.streams.ranges import Ranges
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPE_BYTES

# A large content counts as an eighth of its bytes, so usually 32 contents of 1 MiB fit in the window.
LARGE_SHARE = 8


@dataclass(slots=True)
class WaitingEnvelope:
    """An envelope without its final answer."""

    envelope: Envelope
    open: int  # messages without a final answer
    # Messages without any answer. While there are some, the envelope occupies the window.
    silent: int
    room: int  # bytes that it occupies in the window


class Stream:
    """The stream of one (session, domain): its next number, and its envelopes without a final answer."""

    def __init__(self, start: int = 1) -> None:
        self.next = start
        self.waiting: deque[WaitingEnvelope] = deque()
        self.heard: Ranges = Ranges()  # numbers from `low` on with any answer
        self.final: Ranges = Ranges()  # numbers with a final answer

    @property
    def low(self) -> int:
        """The first number of the oldest envelope that may be resent, or the next number if there is none."""
        return self.waiting[0].envelope.first if self.waiting else self.next

    def between(self, first: int, last: int) -> Iterator[WaitingEnvelope]:
        place = bisect_left(self.waiting, first, key=lambda waiting: waiting.envelope.last)
        while place < len(self.waiting) and self.waiting[place].envelope.first <= last:
            yield self.waiting[place]
            place += 1

    def trim(self) -> None:
        while self.waiting and not self.waiting[0].open:
            self.waiting.popleft()
        self.heard.drop_below(self.low)
        self.final.drop_below(self.low)


class Outbox:
    """The streams of a session, and the window that their unanswered envelopes share."""

    def __init__(self, window_bytes: int, window_count: int) -> None:
        self.window: tuple[int, int] = (window_bytes, window_count)
        self._streams: dict[str, Stream] = {}
        self._bytes = 0
        self._count = 0
        self.unanswered: int = 0  # messages without any answer
        self.warned: int = 0  # messages with an answer that is not final

    @property
    def open(self) -> bool:
        """Whether another envelope may be sent. The last one may exceed the bytes of the window."""
        return self._bytes < self.window[0] and self._count < self.window[1]

    @property
    def flight(self) -> int:
        """The number of envelopes that occupy the window."""
        return self._count

    def next_number(self, domain: str) -> int:
        return self._stream(domain).next

    def numbered(self) -> dict[str, int]:
        return {domain: stream.next - 1 for domain, stream in self._streams.items()}

    def low(self, domain: str) -> int:
        """Return the lowest number in the domain that may be resent, or the next number if there is none."""
        return self._stream(domain).low

    def add(self, envelope: Envelope) -> Envelope:
        """Assign numbers to the envelope, remember it, and return it as it must be sent."""
        stream = self._stream(envelope.domain)
        first, last = stream.next, stream.next + envelope.count - 1
        numbered = replace(envelope, first=first, last=last, low=stream.low)
        stream.next = last + 1
        room = room_of(numbered)
        stream.waiting.append(WaitingEnvelope(numbered, numbered.count, numbered.count, room))
        self._bytes += room
        self._count += 1
        self.unanswered += numbered.count
        return numbered

    def note_answer(self, domain: str, first: int, last: int, final: bool) -> list[tuple[int, int]]:
        """Record an answer to first..last, and return the ranges that had no answer of this kind before.

        With `final` False (FORWARD_WARNING) the window opens, but the envelope stays until the final answer.
        An answer to numbers that were never sent, or already had such an answer, changes nothing.
        """
        stream = self._stream(domain)
        if final and self._is_oldest(stream, first, last):
            return [self._settle_oldest(stream)]
        fresh: list[tuple[int, int]] = []
        for waiting in stream.between(first, last):
            a, b = max(first, waiting.envelope.first), min(last, waiting.envelope.last)
            heard = self._mark_heard(stream, waiting, a, b)
            self.warned += _count(heard)
            if final:
                closed = self._close(stream, waiting, a, b)
                self.warned -= _count(closed)
            fresh += closed if final else heard
        stream.trim()
        return fresh

    def _is_oldest(self, stream: Stream, first: int, last: int) -> bool:
        """Return whether the range is the whole oldest envelope, without any answer yet: the usual case."""
        if not stream.waiting:
            return False
        oldest = stream.waiting[0]
        envelope = oldest.envelope
        return (first, last, oldest.silent) == (envelope.first, envelope.last, envelope.count)

    def _settle_oldest(self, stream: Stream) -> tuple[int, int]:
        oldest = stream.waiting.popleft()
        envelope = oldest.envelope
        self._bytes -= oldest.room
        self._count -= 1
        self.unanswered -= envelope.count
        stream.trim()  # later ones may have been answered before
        return envelope.first, envelope.last

    def is_answered(self, domain: str, number: int) -> bool:
        stream = self._stream(domain)
        return number < stream.low or number in stream.heard

    def is_final(self, domain: str, number: int) -> bool:
        stream = self._stream(domain)
        return number < stream.low or number in stream.final

    def marks(self) -> dict[str, int]:
        """Return the next number of each domain: all lower numbers are assigned."""
        return {domain: stream.next for domain, stream in self._streams.items()}

    def is_answered_below(self, marks: Mapping[str, int]) -> bool:
        """Return whether all numbers below `marks` have an answer, final or not."""
        streams = ((self._stream(domain), mark) for domain, mark in marks.items())
        return all(mark <= s.low or s.heard.covers(s.low, mark - 1) for s, mark in streams)

    def _mark_heard(self, stream: Stream, waiting: WaitingEnvelope, a: int, b: int) -> list[tuple[int, int]]:
        fresh = stream.heard.missing(a, b)
        if fresh:
            stream.heard.add(a, b)
            waiting.silent -= _count(fresh)
            self.unanswered -= _count(fresh)
            if not waiting.silent:
                self._bytes -= waiting.room
                self._count -= 1
        return fresh

    def _close(self, stream: Stream, waiting: WaitingEnvelope, a: int, b: int) -> list[tuple[int, int]]:
        fresh = stream.final.missing(a, b)
        stream.final.add(a, b)
        waiting.open -= _count(fresh)
        return fresh

    def resend(self) -> Iterator[Envelope]:
        """Yield all envelopes without a final answer, in order, to be resent."""
        for stream in self._streams.values():
            for waiting in stream.waiting:
                if waiting.open:
                    yield replace(waiting.envelope, low=stream.low)

    def _stream(self, domain: str) -> Stream:
        stream = self._streams.get(domain)
        if stream is None:
            stream = self._streams[domain] = Stream()
        return stream


def room_of(envelope: Envelope) -> int:
    """Return the bytes of the window that an envelope occupies: an eighth of its size for one large content.

    Otherwise only a few large pictures of a camera would fit in the window, and the camera would wait for
    answers. Direct messages count in full: the backlog of a queue at a node is limited by a whole window.
    """
    size = len(envelope.body)
    return size // LARGE_SHARE if size > ENVELOPE_BYTES and envelope.count == 1 and not envelope.to else size


def _count(ranges: list[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in ranges)
