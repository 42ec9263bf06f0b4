"""Handlers: functions that are called with each message of a subscription, or with each request."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from typing import Any, Protocol

from mesh.client.message import Message
from mesh.client.subscription import Subscription
from mesh.errors import BadContent, BadQuery, BadType
from mesh.features.services.client.request import Request
from mesh.printable import harmless
from mesh.shortening import shown

log = logging.getLogger("mesh.client")

MOST = 1000  # messages in one handler at a time

Function = Callable[[Message[Any]], Any]


class Handler(Protocol):
    """A function that is called with each message of a source, in at most `most` calls at a time."""

    most: int

    def open(self, client: Any) -> AbstractAsyncContextManager[Any]:
        """Return a context manager that yields the source of messages."""

    async def work(self, source: Any, stop_on_error: bool) -> None:
        """Call the function with each item of the source, until the source ends.

        Several workers may share a source.
        """


def check_function(function: object, above: str = '@m.on("sensors/#")') -> None:
    """Raise BadType for an object that cannot be called with a message, or that is a generator."""
    if not callable(function):
        raise BadType(f"{shown(function)} cannot be called.", hint=f"Write {above} above a function.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        what = f"{shown(function)} is a generator, so a call does not run its code."
        raise BadType(what, hint="Write it without `yield`.")


class HandlerSource:
    """The messages of one subscription, shared by several workers.

    A batch is marked as consumed when all its messages have been consumed.
    """

    def __init__(self, subscription: Subscription[Any]) -> None:
        self._subscription = subscription
        self.tracer = subscription._tracer
        self._turn = asyncio.Lock()
        self._rest: Iterator[Message[Any]] = iter(())
        self._used: Callable[[], None] = lambda: None

    async def next_item(self) -> tuple[Message[Any], Callable[[], None]] | None:
        """Return a message and the function to call when it has been consumed.

        Return None when the subscription was ended on purpose.
        """
        async with self._turn:
            while (message := next(self._rest, None)) is None:
                batch = await self._subscription._next_batch()
                if batch is None:
                    return None
                self._rest, self._used = iter(batch), _after(len(batch), self._subscription._hold())
            return message, self._used


def _after(count: int, done: Callable[[], None]) -> Callable[[], None]:
    def used() -> None:
        nonlocal count
        count -= 1
        if count == 0:
            done()

    return used


class TopicHandler:
    """A handler that calls `function` with each message of a subscription.

    `subscribe(client)` creates the subscription.
    """

    subscribe: Callable[[Any], Subscription[Any]]
    most: int

    def __init__(self, function: Function, subscribe: Callable[[Any], Subscription[Any]], most: int) -> None:
        self.subscribe, self.most = subscribe, most
        self._function = function
        self._name = getattr(function, "__qualname__", type(function).__name__)

    @asynccontextmanager
    async def open(self, client: Any) -> AsyncIterator[HandlerSource]:
        async with self.subscribe(client) as subscription:
            yield HandlerSource(subscription)

    async def work(self, source: HandlerSource, stop_on_error: bool) -> None:
        while (taken := await source.next_item()) is not None:
            message, used = taken
            with nullcontext() if source.tracer is None else source.tracer.processing(message):
                await self._handle(message, stop_on_error)
            used()

    async def _handle(self, message: Message[Any], stop_on_error: bool) -> None:
        try:
            result = self._function(message)
            if inspect.isawaitable(result):
                await result
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # This task was not cancelled: something that the handler awaited was.
            self._failed(message, RuntimeError(f"the call was canceled: {error!r}"), stop_on_error)
        except BadContent as error:  # the sender's fault: no traceback
            log.warning("%s (%s): %s", self._name, message.id, error)
        except Exception as error:
            self._failed(message, error, stop_on_error)

    def _failed(self, message: Message[Any], error: Exception, stop_on_error: bool) -> None:
        if stop_on_error:
            raise error
        log.error("%s failed with %s (%s)", self._name, harmless(message.key), message.id, exc_info=error)


class Handlers:
    """The handlers of one client, which run together.

    `handed` converts a request to the object that the function of a service receives; mesh.sync replaces
    `handed`.
    """

    handed: Callable[[Request[Any]], Any]

    def __init__(self) -> None:
        self.all: list[Handler] = []
        self.are_running = False
        self.handed = lambda request: request

    def check_function(self, function: object, above: str) -> None:
        """Raise BadType for an unsuitable function, and BadQuery while the handlers run."""
        check_function(function, above)
        if self.are_running:
            raise BadQuery(
                "The handlers are already running.", hint="Add handlers before run() or running()."
            )

    def add(self, handler: Handler) -> None:
        self.all.append(handler)

    async def run(self, client: object, stop_on_error: bool, ready: Callable[[], None]) -> None:
        """Run the handlers until their sources end, and call `ready` when all sources are open."""
        if self.are_running or not self.all:
            if self.are_running:
                raise BadQuery("The handlers are already running.", hint="Call run() or running() once.")
            hint = 'Put @m.on("sensors/#") or @m.service("calc/add") above a function, then call run().'
            raise BadQuery("No handler was registered.", hint=hint)
        self.are_running = True
        try:
            async with AsyncExitStack() as stack:
                working = [(h, await stack.enter_async_context(h.open(client))) for h in self.all]
                ready()
                await work_all(working, stop_on_error)
        finally:
            self.are_running = False


async def work_all(handlers: list[tuple[Handler, Any]], stop_on_error: bool) -> None:
    """Run all workers until every source has ended on purpose.

    Raises: the first failure, after the other workers were cancelled.
    """
    workers = [
        asyncio.create_task(handler.work(source, stop_on_error))
        for handler, source in handlers
        for _ in range(handler.most)
    ]
    try:
        done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        for worker in done:
            worker.result()
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
