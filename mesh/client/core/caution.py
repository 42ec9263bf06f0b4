"""Which envelope does a node refuse to read? It hangs up over one, and does not say over which.

After that they go one at a time, each when the one before is answered. The one over which it hangs up twice,
with no other under way, has failed; all others go on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from mesh.wire.envelope import Envelope

TWICE = 2
# Why it hung up; anything else will pass, as when it has no room.
UNREADABLE = ("MALFORMED", "TOO_LARGE", "FRAME_TOO_LARGE", "FORGED_SENDER", "POISONED")


class Caution:
    """A line of envelopes that leave one at a time.

    `is_answered` tells of an envelope whether each message of it has any answer.
    """

    def __init__(self, is_answered: Callable[[Envelope], bool]) -> None:
        self.is_on: bool = False
        self._is_answered = is_answered
        self._line: deque[Envelope] = deque()  # the first of it is under way
        self._hung_up = 0  # times over the first of it

    def refused(self) -> Envelope | None:
        """The node has hung up over something: the envelope that it was, if that is known now."""
        if not self.is_on:
            self.is_on = True
            return None
        self._hung_up += 1
        if self._hung_up < TWICE or not self._line:
            return None
        self._hung_up = 0
        return self._line.popleft()

    def begin(self, waiting: Iterable[Envelope]) -> Iterable[Envelope]:
        """Connected again: which of those that wait shall leave at once."""
        if not self.is_on:
            return waiting
        before = self._line[0] if self._line else None
        self._line = deque(waiting)
        leaving = self._next()
        if not (before and self._line and _same(before, self._line[0])):
            self._hung_up = 0
        return leaving

    def add(self, envelope: Envelope) -> bool:
        """A new one: may it leave at once?"""
        if self.is_on:
            self._line.append(envelope)
        return not self.is_on or len(self._line) == 1

    def answered(self) -> Iterable[Envelope]:
        """Something was answered: what may leave now. With the last of them the caution is over."""
        if not (self._line and self._is_answered(self._line[0])):
            return ()
        self._line.popleft()
        self._hung_up = 0
        return self._next()

    def _next(self) -> list[Envelope]:
        """The next of which nothing was heard. Those before it wait for their last word."""
        leaving = []
        while self._line:
            leaving.append(self._line[0])
            if not self._is_answered(self._line[0]):
                break
            self._line.popleft()
        self.is_on = bool(self._line)
        return leaving


def _same(one: Envelope, other: Envelope) -> bool:
    return (one.domain, one.first) == (other.domain, other.first)
