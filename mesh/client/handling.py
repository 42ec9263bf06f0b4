"""The calls of a client that register handlers and run them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from mesh.client.arguments import whole, yes_or_no
from mesh.client.connected import Connected
from mesh.client.core.intake import Terms
from mesh.client.core.queries import topics_of
from mesh.client.handler import MOST, Function, Handlers, TopicHandler
from mesh.client.message import Message, T
from mesh.client.posting import Posting
from mesh.client.subscribing import check_terms_of_member, member_of, subscription_of
from mesh.client.subscription import Subscription


class Handling(Posting):
    """The client's calls that register functions as message handlers and run them."""

    _handlers: Handlers

    def on(
        self,
        *topics: str,
        type: type[T] | None = None,
        domain: str | None = None,
        initial: bool = True,
        overflow: str = "block",
        max_queue: int = 0,
        group: str | None = None,
        concurrency: int = 1,
    ) -> Callable[[Callable[[Message[T]], Any]], Callable[[Message[T]], Any]]:
        """Decorate a function that handles each message of some topics while `run` or `running` runs.

        The function may be `async`; otherwise it blocks the client while it works. In `mesh.sync` it runs in
        a thread, and must not be `async`. A message counts as consumed when the function returns. Exceptions
        are logged (`mesh.client`), and the next message follows, unless `stop_on_error` is set.

        Args:
            topics: Keys or patterns (`sensors/+/temp`, `sensors/#`). Default: all topics of the domain.
            concurrency: Messages handled at a time, 1 to 1,000. Default: 1, which keeps their order.
            type: The type of `message.value`. This and the other arguments are as for `subscribe`.

        Raises:
            BadKey, BadQuery, BadType, BadArgument: An argument or the function is unsuitable.

        Example:
            @m.on("sensors/#", type=float)
            async def show(message):
                print(message.key, message.value)
        """
        asked = topics_of(topics, domain)
        terms = Terms(overflow, whole("max_queue", max_queue, 0, 2**32 - 1))
        most = whole("concurrency", concurrency, 1, MOST)
        yes_or_no("initial", initial)
        if group is not None:
            check_terms_of_member(initial, overflow, "a member of a group")

        def subscribe(client: Connected) -> Subscription[Any]:
            if group is not None:
                return member_of(client, group, asked, max_queue, type)
            return subscription_of(
                client, client._core.subscriptions.make_several(asked, initial, terms), type
            )

        subscribe(self)  # raises errors in the arguments now

        def take(function: Function) -> Function:
            self._handlers.check_function(function, '@m.on("sensors/#")')
            self._handlers.add(TopicHandler(function, subscribe, most))
            return function

        return take

    async def run(self, *, stop_on_error: bool = False) -> None:
        """Run the handlers until the call is cancelled or the client is closed.

        Args:
            stop_on_error: Whether the first exception of a handler ends the run and is raised. BadContent
                never does.

        Raises:
            BadQuery: There is no handler, or the handlers are already running.
            MeshError: The error of a subscription or service that failed.
        """
        await self._run_handlers(yes_or_no("stop_on_error", stop_on_error), lambda: None)

    @asynccontextmanager
    async def running(self, *, stop_on_error: bool = False) -> AsyncIterator[None]:
        """Run the handlers in the background of a block, and cancel them at its end.

        Inside the block every reachable node knows the subscriptions. An error that would end `run` cancels
        the block and is raised at its end.

        Args:
            stop_on_error: As for `run`.

        Raises:
            BadQuery, MeshError: As for `run`.

        Example:
            async with m, m.running():
                await asyncio.sleep(60)
        """
        ready = asyncio.Event()
        task = asyncio.create_task(self._run_handlers(yes_or_no("stop_on_error", stop_on_error), ready.set))
        task.add_done_callback(lambda _: ready.set())
        try:
            await ready.wait()
            if task.done():
                await task
            with _cancelled_by(task):
                yield
        finally:
            task.cancel()
            await asyncio.wait([task])
            error = None if task.cancelled() else task.exception()
        if error is not None:
            raise error

    async def _run_handlers(self, stop_on_error: bool, ready: Callable[[], None]) -> None:
        self._now()
        await self._handlers.run(self, stop_on_error, ready)


@contextmanager
def _cancelled_by(task: asyncio.Task[None]) -> Iterator[None]:
    """Cancel the block when `task` fails, and raise the task's error instead of CancelledError."""
    here, has_failed = asyncio.current_task(), False
    assert here is not None
    before = here.cancelling()

    def ended(task: asyncio.Task[None]) -> None:
        nonlocal has_failed
        if not task.cancelled() and task.exception() is not None:
            has_failed = here.cancel()

    task.add_done_callback(ended)
    try:
        yield
    except asyncio.CancelledError:
        if not has_failed or here.cancelling() > before + 1:  # also cancelled from elsewhere
            raise
    finally:
        task.remove_done_callback(ended)
        if has_failed:
            here.uncancel()
    if has_failed:
        task.result()
