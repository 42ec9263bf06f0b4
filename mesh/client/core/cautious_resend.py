"""Finds out which envelope or bundle makes the node hang up, because the node does not name it.

After a hang-up, they are sent one at a time, each after the previous one is answered. If the node hangs up
twice while only one is in flight, that one is refused, and the others proceed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from mesh.wire.envelope import Envelope

TWICE = 2
# Codes of refusals that concern an envelope. Other refusals, such as NO_ROOM, are temporary.
UNREADABLE = ("MALFORMED", "TOO_LARGE", "FRAME_TOO_LARGE", "FORGED_SENDER", "POISONED")


class Bundle(Protocol):
    """Envelopes that are sent and answered together: a transaction."""

    @property
    def is_answered(self) -> bool: ...

    def send(self) -> None:
        """Send the bundle if there is a connection."""


Unit = Envelope | Bundle
U = TypeVar("U", bound=Unit)


class CautiousResend(Generic[U]):
    """The envelopes and bundles that are sent one at a time while `is_on` is set.

    `is_answered` returns whether one is answered.
    """

    def __init__(self, is_answered: Callable[[U], bool]) -> None:
        self.is_on: bool = False
        self._is_answered = is_answered
        self._line: deque[U] = deque()  # the first is in flight
        self._hung_up = 0  # times over the first envelope

    def on_hang_up(self) -> U | None:
        """Record a hang-up; return what caused it, or None while that is unknown."""
        if not self.is_on:
            self.is_on = True
            return None
        self._hung_up += 1
        if self._hung_up < TWICE or not self._line:
            return None
        self._hung_up = 0
        return self._line.popleft()

    def begin_resend(self, waiting: Iterable[U]) -> Iterable[U]:
        """Return those of `waiting` that may be sent now, after a reconnect."""
        if not self.is_on:
            return waiting
        before = self._line[0] if self._line else None
        self._line = deque(waiting)
        leaving = self._next()
        if not (before and self._line and _same(before, self._line[0])):
            self._hung_up = 0
        return leaving

    def add(self, unit: U) -> bool:
        """Append a new envelope or bundle while `is_on`; return whether it may be sent now."""
        if self.is_on:
            self._line.append(unit)
        return not self.is_on or len(self._line) == 1

    def next_after_answer(self) -> Iterable[U]:
        """Return the units to send now; there are none until the first is answered.

        `is_on` is cleared after the last answer.
        """
        if not (self._line and self._is_answered(self._line[0])):
            return ()
        self._line.popleft()
        self._hung_up = 0
        return self._next()

    def _next(self) -> list[U]:
        """Return the envelopes and bundles up to and including the first unanswered one.

        The answered envelopes among them only wait for their final answers.
        """
        leaving = list[U]()
        while self._line:
            leaving.append(self._line[0])
            if not self._is_answered(self._line[0]):
                break
            self._line.popleft()
        self.is_on = bool(self._line)
        return leaving


def _same(one: Unit, other: Unit) -> bool:
    if isinstance(one, Envelope) and isinstance(other, Envelope):
        return (one.domain, one.first) == (other.domain, other.first)
    return one is other
