"""The blocking client: `with mesh.sync.connect() as m`.

A call without a docstring here has the arguments and the docstring of its namesake in `mesh.client`.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import inspect
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, TypeVar, Unpack, cast, overload
from weakref import finalize, ref

from mesh.client import client as aio
from mesh.client import consumer
from mesh.client import registrations as aio_registrations
from mesh.client.arguments import not_subscribed, several
from mesh.client.client import Event
from mesh.client.content import Content
from mesh.client.handler import check_function
from mesh.client.later import Later
from mesh.client.like import like, making
from mesh.client.message import Message
from mesh.client.message import T as M
from mesh.client.oneloop import NotCopied
from mesh.client.options import PublishOptions
from mesh.client.threads import in_thread
from mesh.errors import BadType, MeshTimeout, WouldBlock, shown
from mesh.sync.posts import Post, Posts, Receipt
from mesh.sync.queues import Consumer, Queue
from mesh.sync.services import Gathering, Registrations, Service, handed
from mesh.sync.subscription import Subscription
from mesh.sync.table import one_of, read, same, waited, worded
from mesh.sync.thread import LoopThread
from mesh.values import Published, messages
from mesh.wire.limits import ENVELOPE_MESSAGES

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def _in_thread(function: Callable[[Message[Any]], Any]) -> Callable[[Message[Any]], Any]:
    @functools.wraps(function)
    async def call(message: Message[Any]) -> None:
        await in_thread(function, message)

    return call


def check_plain(function: Any) -> None:
    """Raise BadType for a function that needs an event loop."""
    if inspect.iscoroutinefunction(function):
        hint = "Write it without `async`, or use mesh.connect()."
        raise BadType(f"{shown(function)} needs an event loop.", hint=hint)


class Client(Later, NotCopied):
    """A session at a node for code without an event loop, created by `mesh.sync.connect`.

    Example:
        with mesh.sync.connect() as m:
            m.publish("sensors/kitchen/temp", 21.5)
    """

    @like(aio.Client.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:
        self._hold(aio.Client(*args, **options))

    def _hold(self, made: aio.Client) -> None:
        self._aio = made
        self._thread = LoopThread()
        self._posts = Posts()
        self._taking = asyncio.Lock()
        made._handlers.handed = partial(handed, self._thread)

    def __enter__(self) -> Client:
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
            what = f"closed with {messages(len(self._posts))} unsent: {self._aio._trouble()}."
            raise MeshTimeout(what, hint="To wait longer: connect(timeout=SECONDS).") from None
        finally:
            await self._aio.close(drain=drain and not self._posts)

    @property
    def name(self) -> str:
        """The absolute name of the session, such as `/node/heron/client/joe/session/1`. Raises: Closed."""
        self._thread.check()
        return self._aio.name

    @property
    def cluster(self) -> str:
        """The mesh whose keys admitted the client; "" without keys, and over a local socket."""
        self._thread.check()
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
        """Return a function that returns the rest of `timeout` in s, counted from now; None: no limit."""
        limit = self._aio._limit(timeout)
        end = time.monotonic() + (limit or 0.0)
        return lambda: None if limit is None else max(0.0, end - time.monotonic())

    # --- publishing -------------------------------------------------------------------------------------

    @same(aio.Client.post)
    def post(self, key: str, content: Content, **options: Unpack[PublishOptions]) -> Receipt:
        self._thread.check()
        message = self._aio._prepared(key, content, **options)
        self._aio._check(message)
        return self._post(len(message[1]), partial(self._aio._post_when_room, message))

    def _post(self, size: int, post: Post) -> Receipt:
        """Queue a message of `size` bytes for the client's thread. Raises: WouldBlock."""
        receipt = Receipt(self._run_within)
        if self._posts.add(receipt, size, post):
            self._thread.begin(self._take_posts)
        return receipt

    async def _take_posts(self) -> None:
        """Post the queued messages in order, each as soon as the window has room."""
        async with self._taking:
            while self._posts:
                receipt, post = self._posts.first()
                receipt._posted = await post()
                self._posts.drop_first()

    @same(aio.Client.publish_many)
    def publish_many(
        self,
        key: str,
        contents: Iterable[Content],
        *,
        timeout: float | None = None,
        **options: Unpack[PublishOptions],
    ) -> int:
        several(contents)
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
                        self.room(timeout=left())
                count += 1
        self.flush(timeout=left())
        return count

    @worded(aio.Client.final)
    def final(self, message: Published | Receipt | str, *, timeout: float | None = None) -> Published:
        return self._run_within(timeout, partial(self._final, message))

    async def _final(self, message: Published | Receipt | str) -> Published:
        return await self._aio.final(await message._handed() if isinstance(message, Receipt) else message)

    @same(aio.Client.waiting)
    def waiting(self) -> tuple[int, str]:
        return self._aio.waiting()

    @waited(cast(Any, aio.Client.send))
    def send(self) -> Any: ...

    # --- subscribing ------------------------------------------------------------------------------------

    @overload
    def subscribe(
        self,
        key: str | None = None,
        *keys: str,
        pattern: str | Sequence[str] | None = None,
        xpath: str | None = None,
        domain: str | None = None,
        initial: bool = True,
        overflow: str = "block",
        max_queue: int = 0,
        group: str | None = None,
        type: type[M] | None = None,
    ) -> Subscription[M]: ...
    @overload
    def subscribe(
        self,
        key: str | None = None,
        *keys: str,
        durable: str,
        pattern: str | Sequence[str] | None = None,
        xpath: str | None = None,
        domain: str | None = None,
        max_queue: int = 0,
        selector: str | None = None,
        type: type[M] | None = None,
    ) -> Consumer[M]: ...
    @one_of(aio.Client.subscribe)
    def subscribe(self, *topics: Any, **options: Any) -> Any:
        made = self._aio.subscribe(*topics, **options)
        is_durable = isinstance(made, consumer.Consumer)
        return (Consumer if is_durable else Subscription)(self, self._thread, made)

    @read(aio.Client.inbox)
    def inbox(self) -> Any: ...

    # --- addresses --------------------------------------------------------------------------------------

    @waited(aio.Client.request)
    def request(self) -> Any: ...

    @same(aio.Client.gather)
    def gather(self, address: str, content: Content = b"", **options: Any) -> Gathering[Any]:
        return Gathering(self._thread, self._aio.gather(address, content, **options))

    @same(aio.Client.serve)
    def serve(self, address: str, **options: Any) -> Service[Any]:
        return Service(self._thread, self._aio.serve(address, **options))

    @same(aio.Client.service)
    def service(self, address: str, **options: Any) -> Callable[[F], F]:
        add = self._aio.service(address, **options)

        def take(function: F) -> F:
            check_plain(function)
            return add(function)

        return take

    @same(aio.Client.registrations)
    def registrations(self, address: str) -> Registrations:
        async def made() -> aio_registrations.Registrations:
            return self._aio.registrations(address)

        return Registrations(self._thread, self._thread.run(made))

    # --- queues -----------------------------------------------------------------------------------------

    @same(aio.Client.queue)
    def queue(self, name: str) -> Queue:
        return Queue(self, self._thread, self._aio.queue(name))

    # --- handling ---------------------------------------------------------------------------------------

    @same(aio.Client.on)
    def on(self, *topics: str, **options: Any) -> Callable[[F], F]:
        add = self._aio.on(*topics, **options)

        def take(function: F) -> F:
            check_plain(function)
            check_function(function)
            add(_in_thread(function))
            return function

        return take

    @waited(aio.Client.run)
    def run(self) -> Any: ...

    @worded(aio.Client.running)
    @contextmanager
    def running(self, *, stop_on_error: bool = False) -> Iterator[None]:
        running = self._aio.running(stop_on_error=stop_on_error)
        self._thread.run(running.__aenter__)
        try:
            yield
        finally:
            if self._thread.is_open:
                self._thread.run(running.__aexit__, None, None, None)

    @worded(aio.Client.unsubscribe)
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

    @same(aio.Client.events)
    def events(self) -> Iterator[Event]:
        return self._follow(self._thread.run(self._following))

    async def _following(self) -> AsyncIterator[Event]:
        return self._aio.events()

    def _follow(self, events: AsyncIterator[Event]) -> Iterator[Event]:
        async def following() -> Event | None:
            return await anext(events, None)

        while self._thread.is_open and (event := self._thread.run(following)) is not None:
            yield event

    # --- other blocking calls ---------------------------------------------------------------------------

    @waited(aio.Client.publish)
    def publish(self) -> Any: ...
    @waited(aio.Client.publish_oneway)
    def publish_oneway(self) -> Any: ...
    @waited(aio.Client.flush)
    def flush(self) -> Any: ...
    @waited(aio.Client.room)
    def room(self) -> Any: ...
    @waited(aio.Client.get)
    def get(self) -> Any: ...
    @waited(aio.Client.erase)
    def erase(self) -> Any: ...
    @waited(aio.Client.route)
    def route(self) -> Any: ...
    @waited(aio.Client.why)
    def why(self) -> Any: ...
    @waited(aio.Client.nodes)
    def nodes(self) -> Any: ...
    @waited(aio.Client.views)
    def views(self) -> Any: ...
    @waited(aio.Client.info)
    def info(self) -> Any: ...
    @waited(aio.Client.call)
    def call(self) -> Any: ...
    @waited(aio.Client.ping)
    def ping(self) -> Any: ...


def _close(client: ref[Client]) -> None:
    if (here := client()) is not None:
        here.close()


def _give_up(thread: LoopThread, at_exit: Callable[[], None]) -> None:
    """End the thread of a client that is no longer referenced; the client closes with its loop."""
    atexit.unregister(at_exit)
    thread.stop_thread()


@making(Client.__init__)
def connect(*args: Any, **options: Any) -> Client:
    """Create a blocking client of the node at `address`, to be used as a context manager.

    Args:
        args: As for `mesh.connect`.
        options: As for `mesh.connect`.

    Returns:
        The client. Entering the context connects it.

    Raises:
        MeshError: As for `mesh.connect`.

    Example:
        with mesh.sync.connect("heron", timeout=10) as m:
            print(m.name)
    """
    return Client(*args, **options)
