"""A node in a thread and a loop of its own: what blocks the program's loop does not stop it."""

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
AT_EXIT = 5.0  # s for all nodes of a program that ends without closing them
PATIENCE = 1.0  # s that such a node waits until others have what it owes them
LOOK = 0.002  # s between two looks whether they have
NO_MEMORY = "this process gets no more memory: what failed may have left half a change behind."

T = TypeVar("T")
_running: set[NodeThread] = set()


class NodeThread:
    """Between `start` and its end: by `stop`, by `mesh down`, by a failure of its own, or with the program.

    `began` is its node once it serves, or why it does not; `ended` is kept when all is let go of. Both are
    set in its thread.
    """

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self.began: Future[NodeRuntime] = Future()
        self.ended: Future[None] = Future()
        self.why: MeshError | None = None  # it has ended; Closed if somebody told it to
        self.patience = PATIENCE  # s, as there; 0: it ends at once
        self.unsent = 0  # messages that they have not got by then
        self.is_forked = False  # this process was forked off: no thread runs here
        self._config, self._environ = config, environ
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="mesh-node", daemon=True)

    def start(self) -> None:
        """Once only. NotAvailable without real threads."""
        _check_threads()
        _running.add(self)
        self._thread.start()

    def stop(self) -> None:
        """Have it say goodbye and end; from any thread, and a second time does no harm. It does not wait."""
        self._is_stopped = True
        if self.began.done() and self.began.exception() is None and not self.is_forked:
            with suppress(RuntimeError):  # its loop has ended
                self.loop.call_soon_threadsafe(self._leaving.set)

    def join(self, seconds: float) -> None:
        """Wait until its thread is gone, but no longer."""
        self._thread.join(seconds)

    def check(self) -> None:
        """Raise why it has ended; Closed in a process that was forked off."""
        if self.is_forked:
            hint = "Open a node of its own after the fork."
            raise Closed("this node lives in the process that forked this one.", hint=hint)
        if self.why is not None:
            raise again(self.why)

    # --- in its own thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.get_loop()  # first: no coroutine is made for a loop that there is not
                runner.run(self._live())
        except Exception as error:
            self.why = self.why or failure(error, "its end")
            if not self.began.done():  # no loop could be made
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
        hint = "Somebody asked it to, as `mesh down` does." if not self._is_stopped else ""
        why = node.driver.why or Closed(f"the node {node.name} has ended.", hint=hint)
        try:
            await node.close()
        finally:
            self.why = why

    async def _leave(self, node: NodeRuntime) -> None:
        """When it is to end: with it goes what is only in its memory, so others have their messages first."""
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
            node.driver.give_up(MeshError(NO_MEMORY, code="NO_MEMORY"))
        loop.default_exception_handler(context)


def _check_threads() -> None:
    """NotAvailable where gevent has replaced threads by greenlets: a node would wait forever."""
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("threading"):
        raise NotAvailable(
            "a node in a program needs a thread of its own, and gevent has replaced the threads of this one.",
            hint="Start a node beside it, by `mesh up`, and use mesh.sync.connect().",
        )


def _owed(node: NodeRuntime) -> int:
    """Messages that wait for those who are connected, or are on their way to them."""
    return sum(feed.pending for feed in node.core.parts.desk.face.feeds() if feed.connected)


def again(error: MeshError) -> MeshError:
    """The same, to be raised once more: an error that is raised twice keeps both tracebacks."""
    made = type(error)(error.what, hint=error.hint, code=error.code)
    made.__cause__ = error.__cause__
    return made


async def waited(future: Future[T]) -> T:
    """For what another thread does. Who gives up waits no more, and nothing else comes of it."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    told(future, loop, done.set)
    await done.wait()
    return future.result()


def told(future: Future[Any], loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    """Have that called in this loop, if it still runs when it is time for it."""

    def tell(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(then)

    future.add_done_callback(tell)


def _end_all() -> None:
    """The program ends, and has not closed them: they say goodbye, for as long as that may take."""
    running, until = list(_running), time.monotonic() + AT_EXIT
    for thread in running:
        thread.stop()
    for thread in running:
        thread.join(max(0.0, until - time.monotonic()))


def _forked() -> None:
    """In the child: none of their threads runs here."""
    for thread in _running:
        thread.is_forked = True
    _running.clear()


atexit.register(_end_all)
os.register_at_fork(after_in_child=_forked)
