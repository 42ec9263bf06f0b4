"""How do messages get from the user's threads to the client's? In order, bounded, without a wait for each."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from mesh.client import receipt
from mesh.errors import Closed, WouldBlock
from mesh.values import Published

HANDED_COUNT = 8192  # messages that may be on their way to the client's thread
HANDED_BYTES = 4 << 20  # bytes of their content, likewise


T = TypeVar("T")
Post = Callable[
    [], Coroutine[Any, Any, receipt.Receipt]
]  # posts it, in the client's thread, when there is room


class RunInThread(Protocol):
    """Has something done in the client's thread, after what was posted before, and waits so long for it."""

    def __call__(self, timeout: float | None, function: Callable[[], Coroutine[Any, Any, T]], /) -> T: ...


class Receipt:
    """A message on its way: `result()` waits for its `Published`, or raises the error that refused it."""

    __slots__ = ("_posted", "_run")

    def __init__(self, run: RunInThread) -> None:
        self._run = run
        self._posted: receipt.Receipt | None = None

    @property
    def id(self) -> str:
        """Names the message for ever. Waits until the window has room for it."""
        return self._run(None, self._handed).id

    def result(self, timeout: float | None = None) -> Published:
        """The answer to it; raises as `publish` does, MeshTimeout after so many seconds."""
        return self._run(timeout, self._result)

    async def _handed(self) -> receipt.Receipt:
        """The receipt in the client's thread, for which its number is known."""
        if self._posted is None:
            raise Closed("the client was closed before this message could leave.")
        return self._posted

    async def _result(self) -> Published:
        return await (await self._handed())


class Posts:
    """Messages on their way to the client's thread: in order, and bounded."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Receipt, int, Post]] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, receipt: Receipt, size: int, post: Post) -> bool:
        """Hand over a message of so many bytes; True if none was waiting. WouldBlock when too many are."""
        with self._lock:
            if len(self._waiting) >= HANDED_COUNT or self._bytes >= HANDED_BYTES:
                raise WouldBlock(
                    f"{len(self._waiting)} messages wait: the window of unanswered ones is full.",
                    hint="Call flush(), or use publish() or publish_many(), which wait by themselves.",
                )
            self._waiting.append((receipt, size, post))
            self._bytes += size
            return len(self._waiting) == 1

    def first(self) -> tuple[Receipt, Post]:
        receipt, _, post = self._waiting[0]
        return receipt, post

    def drop_first(self) -> None:
        """Drop the first: it has been posted."""
        with self._lock:
            _, size, _ = self._waiting.popleft()
            self._bytes -= size
