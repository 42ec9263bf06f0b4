"""The hand-written part of the blocking client: its thread, and calls that do more than wait for their twins.

A method that the async client has, too, is called by the generated method of that name, which has the
arguments and the docstring.
"""

from __future__ import annotations

import asyncio
import atexit
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack
from weakref import finalize, ref

from mesh.client import client as aio
from mesh.client.arguments import not_subscribed, several
from mesh.client.content import Content
from mesh.client.events import Event
from mesh.client.handler import check_function
from mesh.client.oneloop import NotCopied
from mesh.client.options import PublishOptions, check_options
from mesh.client.registrations import Registrations as AsyncRegistrations
from mesh.client.retained_values import warn_of_empty_domain
from mesh.client.threads import check_plain, threaded
from mesh.errors import MeshTimeout, WouldBlock
from mesh.features.queues.client import consumer
from mesh.sync.consumer import Consumer
from mesh.sync.posts import Post, Posts, Receipt
from mesh.sync.request import Request
from mesh.sync.services import Registrations
from mesh.sync.subscription import Subscription
from mesh.sync.thread import LoopThread
from mesh.values import Published, messages
from mesh.wire.limits import ENVELOPE_MESSAGES

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class ThreadClient(NotCopied):
    """A session at a node for code without an event loop, created by `mesh.sync.connect`.

    Example:
        with mesh.sync.connect() as m:
            m.publish("sensors/kitchen/temp", 21.5)
    """

    def _hold(self, made: aio.Client) -> None:
        self._aio = made
        self._thread = LoopThread()
        self._posts = Posts()
        self._taking = asyncio.Lock()
        made._handlers.handed = partial(Request._blocking, self._thread)

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._thread.run(self._aio.__aenter__)
        except BaseException:
            self._thread.close()
            raise
        # For programs that never leave the context, such as notebooks. Neither callback keeps the client.
        self._at_exit = partial(_close, ref(self))
        atexit.register(self._at_exit)
        self._given_up = finalize(self, _give_up, self._thread, self._at_exit)
        self._given_up.atexit = False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(drain=kind is None)

    def close(self, *, drain: bool = True) -> None:
        """Wait for outstanding answers, then end the session; the client is closed even after an error.

        In a forked process the call does nothing, because the session belongs to the parent process.

        Args:
            drain: Whether to wait for answers to published messages, for at most the client's `timeout`.

        Raises:
            MeshTimeout: Messages were still unsent or unanswered.
            PublishRefused: The first refusal for which no receipt was awaited.
        """
        if not self._thread.is_open:
            return
        atexit.unregister(self._at_exit)
        self._given_up.detach()
        if self._thread.is_ours:
            try:
                self._thread.run(self._leave, drain)
            finally:
                self._thread.close()

    async def _leave(self, drain: bool) -> None:
        try:
            if drain:
                async with asyncio.timeout(self._aio._timeout):
                    await self._take_posts()
        except TimeoutError:
            what = f"The client was closed with {messages(len(self._posts))} unsent: {self._aio._trouble()}."
            raise MeshTimeout(what, hint="To wait longer: connect(timeout=SECONDS).") from None
        finally:
            await self._aio.close(drain=drain and not self._posts)

    @property
    def name(self) -> str:
        self._thread.raise_if_ended()
        return self._aio.name

    @property
    def cluster(self) -> str:
        self._thread.raise_if_ended()
        return self._aio.cluster

    def _run(self, timeout: float | None, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a function in the client's thread, after earlier posts, and wait for its result.

        `timeout` limits the wait for earlier posts, in s; None: the client's patience. The function has a
        limit of its own.
        """

        async def in_turn() -> T:
            if self._posts:
                await self._aio._within(timeout, self._take_posts)
            return await function()

        return self._thread.run(in_turn)

    def _run_within(self, timeout: float | None, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a function like `_run`, with `timeout` for the posts and the function together."""
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio._within(left(), function))

    def _left(self, timeout: float | None) -> Callable[[], float | None]:
        """Return a function that returns how much of `timeout` is left, in s; None without a limit."""
        limit = self._aio._limit(timeout)
        end = time.monotonic() + (limit or 0.0)
        return lambda: None if limit is None else max(0.0, end - time.monotonic())

    @property
    def _client(self) -> Self:
        """This client, which the objects created by it keep open."""
        return self

    # --- publishing -------------------------------------------------------------------------------------

    def post(self, key: str, content: Content, **options: Unpack[PublishOptions]) -> Receipt:
        self._thread.raise_if_ended()
        message = self._aio._prepared(key, content, **options)
        self._aio._check(message)
        return self._post(len(message[1]), partial(self._aio._post_when_room, message))

    def _post(self, size: int, post: Post) -> Receipt:
        """Queue a message of `size` bytes for the client's thread. Raises: WouldBlock."""
        receipt = Receipt(self._run_within)
        if self._posts.add(receipt, size, post):
            self._thread.start_coroutine(self._take_posts)
        return receipt

    async def _take_posts(self) -> None:
        """Post the queued messages in order, each as soon as the window has room."""
        async with self._taking:
            while self._posts:
                receipt, post = self._posts.first()
                receipt._posted = await post()
                self._posts.drop_first()

    def _wait_for_room(self, timeout: float | None) -> None:
        left = self._left(timeout)
        self._run(left(), lambda: self._aio.room(timeout=left()))

    def publish_many(
        self,
        key: str,
        contents: Iterable[Content],
        *,
        timeout: float | None = None,
        **options: Unpack[PublishOptions],
    ) -> int:
        several(contents)
        check_options(options, PublishOptions)
        count, left = 0, self._left(timeout)
        if isinstance(contents, list | tuple):
            for at in range(0, len(contents), ENVELOPE_MESSAGES):
                some = contents[at : at + ENVELOPE_MESSAGES]
                count += self._run_within(left(), partial(self._aio._post_some, key, some, options))
        else:
            for content in contents:
                while True:
                    try:
                        self.post(key, content, **options)
                        break
                    except WouldBlock:
                        self._wait_for_room(left())
                count += 1
        self._run(left(), lambda: self._aio.flush(timeout=left()))
        return count

    def final(self, message: Published | Receipt | str, *, timeout: float | None = None) -> Published:
        return self._run_within(timeout, partial(self._final, message))

    async def _final(self, message: Published | Receipt | str) -> Published:
        return await self._aio.final(await message._handed() if isinstance(message, Receipt) else message)

    # --- subscribing and handling -----------------------------------------------------------------------

    def erase(self, *key: Any, **options: Any) -> list[str]:
        domain, left = options.pop("domain"), self._left(options.pop("timeout"))
        warn_of_empty_domain(domain, stacklevel=4)  # the client's thread does not know the caller
        where = None if domain == "" else domain
        return self._run(left(), lambda: self._aio.erase(*key, domain=where, timeout=left(), **options))

    def subscribe(self, *topics: Any, **options: Any) -> Any:
        made = self._aio.subscribe(*topics, **options)
        is_durable = isinstance(made, consumer.Consumer)
        return (Consumer if is_durable else Subscription)(self, self._thread, made)

    def unsubscribe(
        self, subscription: Subscription[Any] | Consumer[Any] | str, *, if_unused: bool = True
    ) -> None:
        if isinstance(subscription, str):
            self._run(None, lambda: self._aio.unsubscribe(subscription, if_unused=if_unused))
        elif isinstance(subscription, Consumer):
            subscription.close()
        elif isinstance(subscription, Subscription):
            subscription.unsubscribe()
        else:
            raise not_subscribed(subscription)

    def on(self, *topics: Any, **options: Any) -> Any:
        add = self._aio.on(*topics, **options)

        def take(function: F) -> F:
            check_plain(function)
            check_function(function)
            add(threaded(function))
            return function

        return take

    @contextmanager
    def running(self, *, stop_on_error: bool = False) -> Iterator[None]:
        running = self._aio.running(stop_on_error=stop_on_error)
        self._thread.run(running.__aenter__)
        try:
            yield
        finally:
            if self._thread.is_open:
                self._thread.run(running.__aexit__, None, None, None)

    # --- services and events ----------------------------------------------------------------------------

    def service(self, *address: Any, **options: Any) -> Callable[[F], F]:
        add = self._aio.service(*address, **options)

        def take(function: F) -> F:
            check_plain(function)
            return add(function)

        return take

    def registrations(self, address: str) -> Registrations:
        async def made() -> AsyncRegistrations:
            return self._aio.registrations(address)

        return Registrations(self, self._thread, self._thread.run(made))

    def events(self) -> Iterator[Event]:
        return self._follow(self._thread.run(self._following))

    async def _following(self) -> AsyncIterator[Event]:
        return self._aio.events()

    def _follow(self, events: AsyncIterator[Event]) -> Iterator[Event]:
        async def following() -> Event | None:
            return await anext(events, None)

        while self._thread.is_open and (event := self._thread.run(following)) is not None:
            yield event


def _close(client: ref[ThreadClient]) -> None:
    if (here := client()) is not None:
        here.close()


def _give_up(thread: LoopThread, at_exit: Callable[[], None]) -> None:
    """End the thread of a client that is no longer referenced; the client closes with its loop."""
    atexit.unregister(at_exit)
    thread.stop_thread()
