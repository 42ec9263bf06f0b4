"""An event loop in a thread of its own, for blocking code."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, ParamSpec, TypeVar

from mesh.errors import Closed
from mesh.local.descriptors import LOOP, check_descriptors

P = ParamSpec("P")
T = TypeVar("T")
ThreadWork = Coroutine[Any, Any, T]


class LoopThread:
    """An event loop and its thread, from `start` to `close`, in the process that created it."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()  # nothing is started after the end
        self._is_open = False
        self._ready = threading.Event()
        self._failed: BaseException | None = None  # why the loop could not start
        # A daemon thread, because at exit the interpreter would wait for it before the client is closed.
        self._thread = threading.Thread(target=self._run, name="mesh-client", daemon=True)

    def start(self) -> None:
        """Start the thread, once, and wait for its loop.

        Raises: Closed the second time, LocalError NO_DESCRIPTORS, and any error that ends the thread early.
        """
        if self._thread.ident is not None:
            raise Closed(
                "The client was opened before.", hint="Create another one with `mesh.sync.connect()`."
            )
        check_descriptors(LOOP)
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        self._is_open = True

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.get_loop()  # before a coroutine is created for it
                runner.run(self._live())
        except BaseException as error:
            if self._ready.is_set():
                raise
            self._failed = error
        finally:
            self._ready.set()

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._ready.set()
        await self._stopped.wait()

    @property
    def is_ours(self) -> bool:
        """Whether this process started the thread. A forked child must not use the sockets of its parent."""
        return os.getpid() == self._process

    @property
    def is_open(self) -> bool:
        return self._is_open

    def raise_if_ended(self) -> None:
        """Raise Closed before the start, after the end, and in a forked process."""
        if not self.is_ours:
            hint = "Connect again after the fork."
            raise Closed("The client belongs to the process that forked this one.", hint=hint)
        if not self._is_open:
            hint = (
                "Use it inside its block: `with mesh.sync.connect() as m:` or `with mesh.sync.node() as m:`."
            )
            raise Closed("The client is not open.", hint=hint)

    def start_coroutine(
        self, function: Callable[P, ThreadWork[T]], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Start a coroutine in the thread. Raises: Closed, as `raise_if_ended` does."""
        with self._lock:
            self.raise_if_ended()
            return asyncio.run_coroutine_threadsafe(function(*args, **kwargs), self._loop)

    def run(self, function: Callable[P, ThreadWork[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a coroutine in the thread and wait for it. Raises: Closed, also if the thread ends meanwhile.

        An interrupt of the wait (Ctrl-C) cancels the coroutine.
        """
        future = self.start_coroutine(function, *args, **kwargs)
        try:
            return future.result()
        except CancelledError:
            raise Closed("The client was closed during the call.") from None
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        with self._lock:
            self.stop_thread()
        self._thread.join()

    def stop_thread(self) -> None:
        """Cancel the running coroutines and end the thread, without waiting; callable in any thread."""
        if self.is_ours and self._is_open:
            self._is_open = False
            self._loop.call_soon_threadsafe(self._stopped.set)
