"""What has come of one question that was put to all who serve an address?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mesh.client.core.requests import Bucket
from mesh.client.message import Message
from mesh.errors import HandlerLost, MeshError, NoHandlers
from mesh.wire.commands import Answer

KEPT = 10_000  # replies that wait for a user who is slow


class Gathered:
    """The replies, until there are as many as are expected, or `most`, or the time is over.

    `stirred` is called when there may be something to take, or an end.
    """

    counts = True

    def __init__(self, bucket: Bucket, most: int) -> None:
        self.bucket = bucket
        self.expected: int | None = None  # how many have been asked, once that is known
        self.error: MeshError | None = None  # why nothing came of it
        self.is_over: bool = False
        self.stirred: Callable[[], None] = lambda: None
        self._most = most
        self._count = 0
        self._waiting: deque[tuple[Message, MeshError | None]] = deque()

    def take(self) -> tuple[Message, MeshError | None] | None:
        """The next reply, and why it is none; None: there is none now."""
        return self._waiting.popleft() if self._waiting else None

    def replied(self, message: Message, error: MeshError | None) -> bool:
        self._count += 1
        if len(self._waiting) < KEPT:
            self._waiting.append((message, error))
        return self._stir()

    def answered(self, answer: Answer) -> bool:
        self.expected = answer.matched
        return self._stir()

    def _stir(self) -> bool:
        most = self._most if self.expected is None else min(self._most, self.expected)
        if self._count >= most:
            self.is_over = True
        self.stirred()
        return self.is_over

    def refused(self, error: MeshError) -> None:
        """That nobody serves it is an answer; what came before whoever had it was lost is still there."""
        if isinstance(error, NoHandlers):
            self.expected = 0
        elif not (isinstance(error, HandlerLost) and self._count):
            self.error = error
        self.over()

    def over(self) -> None:
        self.is_over = True
        self.stirred()
