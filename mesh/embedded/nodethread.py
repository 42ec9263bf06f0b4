"""A node with its own thread and event loop, so that it keeps running while the program's loop is blocked."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from mesh.config import Config
from mesh.errors import Closed, MeshError, NotAvailable
from mesh.shell.failing import failure
from mesh.shell.node import NodeRuntime
from mesh.shell.starting import start

log = logging.getLogger("mesh.node")
AT_EXIT = 5.0  # s for all unclosed nodes at exit
PATIENCE = 1.0  # s for the receivers of an unclosed node
LOOK = 0.002  # s between checks of unsent messages
NO_MEMORY = "The process is out of memory, and a change may be half done, so the node has stopped."
MORE = "Give the process more memory, and open the node again."

T = TypeVar("T")
_running: set[NodeThread] = set()


class NodeThread:
    """A thread that runs a node until `stop`, `mesh down`, a failure of the node, or the end of the program.

    `began` resolves with the node once it serves, or with the error of a failed start. `ended` resolves when
    the node has released all resources. Both are set in the node's thread.
    """

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self.began: Future[NodeRuntime] = Future()
        self.ended: Future[None] = Future()
        self.why: MeshError | None = None  # reason of the end; Closed after a request
        self.patience = PATIENCE  # s; 0: the node ends immediately
        self.unsent = 0  # messages unacknowledged at the end
        self.is_forked = False  # a forked process, without the thread
        self._config, self._environ = config, environ
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="mesh-node", daemon=True)

    def start(self) -> None:
        """Start the thread, once. Raises: NotAvailable where gevent has replaced threads."""
        _check_threads()
        _running.add(self)
        self._thread.start()

    def stop(self) -> None:
        """Ask the node to end, without waiting; callable from any thread and more than once."""
        self._is_stopped = True
        if self.began.done() and self.began.exception() is None and not self.is_forked:
            with suppress(RuntimeError):  # the node's loop has ended
                self.loop.call_soon_threadsafe(self._leaving.set)

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def raise_if_ended(self) -> None:
        """Raise the error that ended the node, if it has ended; in a forked process, raise Closed."""
        if self.is_forked:
            hint = "Open another node after the fork."
            raise Closed("The node belongs to the process that forked this one.", hint=hint)
        if self.why is not None:
            raise again(self.why)

    # --- in the node's thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.get_loop()  # before a coroutine is created for it
                runner.run(self._live())
        except Exception as error:
            self.why = self.why or failure(error, "its end")
            if not self.began.done():  # the loop could not be created
                self.began.set_exception(error)
        finally:
            _running.discard(self)
            self.ended.set_result(None)

    async def _live(self) -> None:
        self.loop = asyncio.get_running_loop()
        try:
            node = await start(self._config, self._environ)
        except BaseException as error:
            self.began.set_exception(error)
            return
        self._leaving = asyncio.Event()
        leaving = asyncio.create_task(self._leave(node))
        self.loop.set_exception_handler(lambda loop, context: self._failed(node, loop, context))
        self.began.set_result(node)
        if self._is_stopped:
            self._leaving.set()
        await node.driver.stopping.wait()
        leaving.cancel()
        hint = "It may have been stopped by `mesh down`." if not self._is_stopped else ""
        why = node.driver.why or Closed(f"The node {node.name} has ended.", hint=hint)
        try:
            await node.close()
        finally:
            self.why = why

    async def _leave(self, node: NodeRuntime) -> None:
        """Stop the node on request, after receivers acknowledged all messages or `patience` has passed."""
        await self._leaving.wait()
        until = self.loop.time() + self.patience
        while True:
            self.unsent = _owed(node)
            if not self.unsent or self.loop.time() >= until:
                break
            await asyncio.sleep(LOOK)
        node.stop()

    def _failed(self, node: NodeRuntime, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), MemoryError):
            node.driver.close()
            node.driver.give_up(MeshError(NO_MEMORY, hint=MORE, code="NO_MEMORY"))
        loop.default_exception_handler(context)


def _check_threads() -> None:
    """Raise NotAvailable where gevent has replaced threads, because a node would block forever."""
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("threading"):
        raise NotAvailable(
            "A node in a program needs its own thread, but gevent has replaced the threads of this process.",
            hint="Start a node with `mesh up`, and use mesh.sync.connect().",
        )


def _owed(node: NodeRuntime) -> int:
    """Return how many messages connected receivers have yet to acknowledge."""
    return sum(feed.pending for feed in node.core.parts.context.face.feeds() if feed.connected)


def again(error: MeshError) -> MeshError:
    """Return a copy of the error, because an error raised twice keeps both tracebacks."""
    made = type(error)(error.what, hint=error.hint, code=error.code)
    made.__cause__ = error.__cause__
    return made


async def waited(future: Future[T]) -> T:
    """Return the result of `future`, which another thread sets. A cancelled wait does not cancel `future`."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    told(future, loop, done.set)
    await done.wait()
    return future.result()


def told(future: Future[Any], loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    """Call `then` in `loop` when the future is done, if the loop still runs."""

    def tell(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(then)

    future.add_done_callback(tell)


def _end_all() -> None:
    """Stop all nodes that were not closed, at exit, and wait for them for at most AT_EXIT s."""
    running, until = list(_running), time.monotonic() + AT_EXIT
    for thread in running:
        thread.stop()
    for thread in running:
        thread.join(max(0.0, until - time.monotonic()))


def _forked() -> None:
    """Mark all nodes as forked in a forked child, where their threads do not run."""
    for thread in _running:
        thread.is_forked = True
    _running.clear()


atexit.register(_end_all)
os.register_at_fork(after_in_child=_forked)
