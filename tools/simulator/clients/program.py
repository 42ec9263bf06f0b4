"""The program of a simulated client: an event loop of asyncio in simulated time."""

# Law: a program that is paused runs nothing, but its clock goes on, as for a process that the system stopped.

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

from tools.simulator.world.network import Network


class Program(asyncio.AbstractEventLoop):
    """An event loop whose clock gains `drift` s per second. An unexpected exception ends the run."""

    def __init__(self, net: Network[Any], drift: float = 0.0) -> None:
        self._net, self._rate = net, 1 + drift
        self._ready: deque[asyncio.Handle] = deque()
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._is_planned = False
        self._paused_until = 0.0

    # --- work -----------------------------------------------------------------------------------------------

    def pause(self, seconds: float) -> None:
        """Run nothing for `seconds` of simulated time."""
        self._paused_until = max(self._paused_until, self._net.now + seconds)

    def wake(self) -> None:
        """End a pause."""
        self._paused_until = 0.0
        self._is_planned = False
        self._plan(self._net.now)

    def end(self) -> None:
        """Cancel all work, and run until nothing is left of it."""
        self._paused_until = 0.0
        for task in list(self._tasks):
            task.cancel()
        self.run_ready()

    def run_ready(self) -> None:
        """Run all due work, unless the program is paused."""
        self._is_planned = False
        if self._net.now < self._paused_until:
            self._plan(self._paused_until)
            return
        while self._ready:
            handle = self._ready.popleft()
            if not handle.cancelled():
                self._run(handle)

    def _run(self, handle: asyncio.Handle) -> None:
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            handle._run()
        finally:
            asyncio._set_running_loop(before)

    def _plan(self, at: float) -> None:
        if not self._is_planned:
            self._is_planned = True
            self._net.at(at, self.run_ready)

    def _add(self, handle: asyncio.Handle) -> None:
        self._ready.append(handle)
        self._plan(self._net.now)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error

    # --- for asyncio ----------------------------------------------------------------------------------------

    def time(self) -> float:
        return self._net.now * self._rate

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._add(handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._net.at(when / self._rate, lambda: None if handle.cancelled() else self._add(handle))
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if (error := context.get("exception")) is not None and "handle" in context:
            raise error

    def get_debug(self) -> bool:
        return False

    def is_closed(self) -> bool:
        return False

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: a cancelled timer is not run when it is due."""


def new_program(net: Network[Any], drift: float = 0.0) -> Program:
    """Return a program without work. Programs use no files, sockets or processes."""
    return Program(net, drift)  # type: ignore[abstract]
