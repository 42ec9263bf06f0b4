"""Which functions get which messages, and from when to when?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from mesh.client.arguments import whole, yes_or_no
from mesh.client.asking import Asking
from mesh.client.core.intake import Terms
from mesh.client.core.subscriptions import topics_of
from mesh.client.handler import Function, Handler, TopicHandler, check_function, work_all
from mesh.client.like import like
from mesh.client.message import Message, T
from mesh.client.subscribing import check_terms_of_member
from mesh.client.subscription import Subscription
from mesh.errors import BadQuery

MOST = 1000  # messages that one handler may have at a time


class Handling(Asking):
    """The verbs for functions that are called with each message."""

    @like(Asking.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._handlers: list[Handler] = []
        self._are_running = False

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
        """Call the function below with each message of these topics, while `run` or `running` run.

        `topics`: keys, or patterns (`sensors/+/temp`, `sensors/#`). The function may be `async` or not; one
        that is not holds up this client while it works. One message at a time, in order; `concurrency`: so
        many at a time, and then in no order. A message counts as used when the function has returned.
        What it raises is logged (`mesh.client`), and the next message comes. The rest is as for `subscribe`.
        Raises BadKey, BadQuery, BadType, BadArgument.
        """
        asked = topics_of(topics, domain)
        terms = Terms(overflow, whole("max_queue", max_queue, 0, 2**32 - 1))
        most = whole("concurrency", concurrency, 1, MOST)
        yes_or_no("initial", initial)
        if group is not None:
            check_terms_of_member(initial, overflow, "a member of a group")

        def subscribe(client: Asking) -> Subscription[Any]:
            if group is not None:
                return client._member(group, asked, max_queue, type)
            return client._subscription(client._core.subscriptions.make_several(asked, initial, terms), type)

        subscribe(self)  # what is wrong with it is told here

        def take(function: Function) -> Function:
            self._check_function(function, '@m.on("sensors/#")')
            self._handlers.append(TopicHandler(function, subscribe, most))
            return function

        return take

    def _check_function(self, function: Any, above: str) -> None:
        """BadType for what cannot be called, BadQuery while those that were there before run."""
        check_function(function, above)
        if self._are_running:
            raise BadQuery("the handlers run already.", hint="Add one before run() or running().")

    async def run(self, *, stop_on_error: bool = False) -> None:
        """Call the handlers with what comes, until it is cancelled, or the client is closed.

        Ends with the error of a subscription that fails, and with `stop_on_error` with the first one that a
        handler raises, other than BadContent. Raises BadQuery without a handler, or while they run already.
        """
        await self._run(yes_or_no("stop_on_error", stop_on_error), lambda: None)

    @asynccontextmanager
    async def running(self, *, stop_on_error: bool = False) -> AsyncIterator[None]:
        """The same beside what stands inside, as in `async with m, m.running():`; it is cancelled in the end.

        Inside, every node that can be reached knows of the subscriptions. What would end `run` with an error
        cancels what stands inside, and is raised in its place.
        """
        ready = asyncio.Event()
        task = asyncio.create_task(self._run(yes_or_no("stop_on_error", stop_on_error), ready.set))
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

    async def _run(self, stop_on_error: bool, ready: Callable[[], None]) -> None:
        """As `run`; `ready` is called when all are subscribed."""
        self._now()
        if self._are_running or not self._handlers:
            what = "the handlers run already." if self._are_running else "there is no handler to run."
            raise BadQuery(
                what,
                hint='Put @m.on("sensors/#") or @m.service("calc/add") above a function, then run() once.',
            )
        self._are_running = True
        try:
            async with AsyncExitStack() as stack:
                working = [(h, await stack.enter_async_context(h.open(self))) for h in self._handlers]
                ready()
                await work_all(working, stop_on_error)
        finally:
            self._are_running = False


@contextmanager
def _cancelled_by(task: asyncio.Task[None]) -> Iterator[None]:
    """A context whose inside is cancelled when the task fails, and the task's error raised in its place."""
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
        if not has_failed or here.cancelling() > before + 1:  # somebody else wanted it, too
            raise
    finally:
        task.remove_done_callback(ended)
        if has_failed:
            here.uncancel()
    if has_failed:
        task.result()
