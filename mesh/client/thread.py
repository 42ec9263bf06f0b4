"""How does blocking code use an event loop? One that runs in a thread of its own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from mesh.errors import Closed

T = TypeVar("T")


class LoopThread:
    """An event loop and its thread, from `LoopThread()` to `close()`, in the process that made it."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._ready = threading.Event()
        # A daemon, or the interpreter would wait for it at exit before it lets anybody close it.
        self._thread = threading.Thread(target=self._run, name="mesh-client", daemon=True)
        self._thread.start()
        self._ready.wait()

    def _run(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._ready.set()
        await self._stopped.wait()

    @property
    def is_ours(self) -> bool:
        """False in a process that was forked off: no thread runs there, and the sockets are not its own."""
        return os.getpid() == self._process

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have it done. Raises Closed after the end, and in a forked process."""
        try:
            if not self.is_ours:
                hint = "Connect again after the fork."
                raise Closed("this client belongs to the process that forked this one.", hint=hint)
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        except (Closed, RuntimeError) as error:  # RuntimeError: the loop has ended
            work.close()
            raise error if isinstance(error, Closed) else Closed("this client is closed.") from None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have it done, and wait for it; what interrupts the waiting (Ctrl-C) cancels it."""
        future = self.begin(work)
        try:
            return future.result()
        except CancelledError:
            raise Closed("this client was closed meanwhile.") from None
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what still runs, and end the thread."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()
