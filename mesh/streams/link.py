"""Numbered messages over one link: acknowledged, resent after a reconnect, and deduplicated.

A link stream belongs to one direction between two boots. Its numbers have no gaps, so one integer is the
state of the receiver. Numbers outlive connections: after a reconnect, HELLO reports that integer, and only
the rest is resent.
"""

from collections import deque
from typing import Generic, TypeVar

from mesh.errors import RemoteError

T = TypeVar("T")


class LinkSender(Generic[T]):
    """Sent messages without an acknowledgment, within a window of bytes and messages."""

    def __init__(self, window_bytes: int, window_count: int) -> None:
        self.next: int = 1
        self._flight: deque[tuple[int, int, T]] = deque()  # (number, size, message)
        self.bytes = 0  # in flight
        self._window = (window_bytes, window_count)

    @property
    def open(self) -> bool:
        """Whether another message may be sent.

        The last one may exceed the bytes of the window, or a large message could never be sent.
        """
        return self.bytes < self._window[0] and len(self._flight) < self._window[1]

    @property
    def flight(self) -> int:
        """The number of messages in flight."""
        return len(self._flight)

    def sent(self, message: T, size: int) -> None:
        self._flight.append((self.next, size, message))
        self.bytes += size
        self.next += 1

    def on_acked(self, have: int) -> None:
        """Record that the other end has all numbers up to `have`.

        Raises: RemoteError, if the number `have` was not sent.
        """
        if have >= self.next:
            raise RemoteError(
                f"message {have} is acknowledged, but {self.next - 1} were sent", code="FORGED_ACK"
            )
        while self._flight and self._flight[0][0] <= have:
            self.bytes -= self._flight.popleft()[1]

    def can_resume(self, have: int) -> bool:
        """Return whether every message after `have` is still kept here, so that it can be resent."""
        oldest = self._flight[0][0] if self._flight else self.next
        return oldest - 1 <= have < self.next

    def resume(self, have: int) -> list[T]:
        """Drop the messages up to `have`, and return the others, to be resent after a reconnect, in order.

        Raises: RemoteError, as `on_acked`.
        """
        self.on_acked(have)
        return [message for _, _, message in self._flight]


class LinkReceiver:
    """The receiver of a link stream, with the last number that has arrived."""

    def __init__(self) -> None:
        self.have: int = 0

    def accept_number(self, number: int) -> bool:
        """Record the number if it is the next one, and return whether it is.

        False means a duplicate. Raises: RemoteError, if a number is missing.
        """
        if number <= self.have:
            return False
        if number > self.have + 1:
            raise RemoteError(f"item message {number} follows {self.have}: messages are missing", code="GAP")
        self.have = number
        return True
