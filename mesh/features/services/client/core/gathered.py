"""The replies to one request to all services of an address."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mesh.client.message import Message
from mesh.errors import HandlerLost, MeshError, NoHandlers
from mesh.features.services.client.core.requests import Bucket
from mesh.wire.commands import Answer

KEPT = 10_000  # unread replies


class Gathered:
    """Collects replies until all expected ones or `most` have arrived, or the request ends.

    At most KEPT unread replies are kept. `stirred` is called when a reply may have arrived, or the request
    may have ended.
    """

    counts = True

    def __init__(self, bucket: Bucket, most: int) -> None:
        self.bucket = bucket
        self.expected: int | None = None  # number of services, once known
        self.error: MeshError | None = None  # why the request failed
        self.is_over: bool = False
        self.stirred: Callable[[], None] = lambda: None
        self._most = most
        self._count = 0
        self._waiting: deque[tuple[Message, MeshError | None]] = deque()

    def take_reply(self) -> tuple[Message, MeshError | None] | None:
        return self._waiting.popleft() if self._waiting else None

    def on_reply(self, message: Message, error: MeshError | None) -> bool:
        self._count += 1
        if len(self._waiting) < KEPT:
            self._waiting.append((message, error))
        return self._stir()

    def on_answer(self, answer: Answer) -> bool:
        self.expected = answer.matched
        return self._stir()

    def _stir(self) -> bool:
        most = self._most if self.expected is None else min(self._most, self.expected)
        if self._count >= most:
            self.is_over = True
        self.stirred()
        return self.is_over

    def on_refused(self, error: MeshError) -> None:
        """End the request. Neither a missing service nor a loss after the first reply counts as an error."""
        if isinstance(error, NoHandlers):
            self.expected = 0
        elif not (isinstance(error, HandlerLost) and self._count):
            self.error = error
        self.on_deadline()

    def on_deadline(self, has_expired: bool = False) -> None:
        self.is_over = True
        self.stirred()
