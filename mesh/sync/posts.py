"""Passes messages from the user's threads to the client's thread, in order and bounded."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from mesh.client import receipt
from mesh.errors import Closed, WouldBlock
from mesh.values import Published

HANDED_COUNT = 8192  # queued messages
HANDED_BYTES = 4 << 20  # bytes of their contents


T = TypeVar("T")
Post = Callable[[], Coroutine[Any, Any, receipt.Receipt]]  # runs in the client's thread


class RunInThread(Protocol):
    """Runs a function in the client's thread, after earlier posts, and waits for its result."""

    def __call__(self, timeout: float | None, function: Callable[[], Coroutine[Any, Any, T]], /) -> T: ...


class Receipt:
    """The receipt of a posted message.

    Example:
        receipt = m.post("log", b"started")
        published = receipt.result(timeout=5)
    """

    __slots__ = ("_posted", "_run")

    def __init__(self, run: RunInThread) -> None:
        self._run = run
        self._posted: receipt.Receipt | None = None

    @property
    def id(self) -> str:
        """The id of the message. Reading it waits for the post. Raises: Closed, MeshTimeout."""
        return self._run(None, self._handed).id

    def result(self, timeout: float | None = None) -> Published:
        """Wait for the answer to the message.

        Args:
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            PublishRefused: The message was refused.
            MeshTimeout: No answer in time.
            Closed: The client was closed before the message was sent.
        """
        return self._run(timeout, self._result)

    async def _handed(self) -> receipt.Receipt:
        """Return the receipt of the client's thread. Raises: Closed if the message was never posted."""
        if self._posted is None:
            raise Closed("The client was closed before this message was sent.")
        return self._posted

    async def _result(self) -> Published:
        return await (await self._handed())


class Posts:
    """A bounded queue of messages from the user's threads to the client's thread."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Receipt, int, Post]] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, receipt: Receipt, size: int, post: Post) -> bool:
        """Append a message; return whether the queue was empty. Raises: WouldBlock if it is full."""
        with self._lock:
            if len(self._waiting) >= HANDED_COUNT or self._bytes >= HANDED_BYTES:
                raise WouldBlock(
                    f"The window of unanswered messages is full: {len(self._waiting)} messages wait.",
                    hint="Call flush(), or use publish() or publish_many(), which wait.",
                )
            self._waiting.append((receipt, size, post))
            self._bytes += size
            return len(self._waiting) == 1

    def first(self) -> tuple[Receipt, Post]:
        receipt, _, post = self._waiting[0]
        return receipt, post

    def drop_first(self) -> None:
        with self._lock:
            _, size, _ = self._waiting.popleft()
            self._bytes -= size
