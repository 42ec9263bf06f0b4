"""The client without an event loop: `with mesh.sync.connect() as m: m.publish("topic", b"…")`.

The names of `mesh.Client`, the same arguments, results and errors. Each client has one thread with one
loop, which keeps it alive while yours works or waits. May be called from several threads.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from mesh.client import client as aio
from mesh.client.client import Content, Event, Prepared, prepared
from mesh.client.message import Batch, Message
from mesh.client.subscription import Subscription as AsyncSubscription
from mesh.errors import Closed, MeshTimeout, WouldBlock
from mesh.values import Published

HANDED_COUNT = 8192  # messages on their way to the loop, at most
HANDED_BYTES = 4 << 20  # bytes of their content, at most

P = ParamSpec("P")
T = TypeVar("T")


class Loop:
    """An event loop in a thread of its own, for as long as this is open and the process is the same."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._live(),), name="mesh-client", daemon=True)
        self._thread.start()
        self._ready.wait()

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._ready.set()
        await self._stopped.wait()

    @property
    def is_ours(self) -> bool:
        """False in a process that was forked off: there is no thread, and the sockets are not its own."""
        return os.getpid() == self._process

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have it done there. Closed after the end, or in a forked process."""
        if not self.is_ours:
            work.close()
            raise Closed(
                "this client was opened by the process that forked this one.", hint="Connect again after fork."
            )
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop is closed
            work.close()
            raise Closed("this client is closed.") from None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have it done there, and wait for it. What interrupts the waiting cancels it."""
        future = self.begin(work)
        try:
            return future.result()
        except CancelledError:
            raise Closed("this client was closed meanwhile.") from None
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()


class Receipt:
    """A message on its way. `result()` waits for its `Published`, or raises the error that refused it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.posted: aio.Receipt | None = None

    @property
    def id(self) -> str:
        """Names the message for ever; waits until it has left this thread."""
        return self._client.loop.run(self._posted()).id

    def result(self) -> Published:
        """What became of it. Raises as `publish` does."""
        return self._client.loop.run(self._result())

    async def _posted(self) -> aio.Receipt:
        await self._client.take_posts()
        if self.posted is None:
            raise Closed("the client was closed before this message could leave.")
        return self.posted

    async def _result(self) -> Published:
        return await (await self._posted())


class Posts:
    """Messages on their way from the user's threads to the loop: in order, and bounded."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Receipt, Prepared]] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, receipt: Receipt, message: Prepared) -> bool:
        """Hand it over; is it the only one? WouldBlock when too many wait."""
        with self._lock:
            if len(self._waiting) >= HANDED_COUNT or self._bytes >= HANDED_BYTES:
                raise WouldBlock(
                    f"{len(self._waiting)} messages wait behind a full window.",
                    hint="Call flush(), or use publish() or publish_many(), which wait by themselves.",
                )
            self._waiting.append((receipt, message))
            self._bytes += len(message[1])
            return len(self._waiting) == 1

    def first(self) -> tuple[Receipt, Prepared]:
        return self._waiting[0]

    def done(self) -> None:
        """The first has been posted."""
        with self._lock:
            _, message = self._waiting.popleft()
            self._bytes -= len(message[1])
