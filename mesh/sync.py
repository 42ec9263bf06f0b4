"""The client for code without an event loop: `with mesh.sync.connect() as m: m.publish("topic", b"…")`.

The names of `mesh.connect`, with the same arguments, results and errors. Each client keeps itself alive
in one thread of its own, while yours works or waits; it may be called from several threads.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from mesh.client import client as aio
from mesh.client import publisher, subscription
from mesh.client.client import Content, Event, Prepared, prepared
from mesh.client.message import Batch, Message
from mesh.client.thread import LoopThread
from mesh.errors import Closed, MeshTimeout, WouldBlock
from mesh.values import Published

HANDED_COUNT = 8192  # messages that may be on their way to the client's thread
HANDED_BYTES = 4 << 20  # bytes of their content, likewise

P = ParamSpec("P")
T = TypeVar("T")


class Receipt:
    """A message on its way: `result()` waits for its `Published`, or raises the error that refused it."""

    __slots__ = ("_client", "posted")

    def __init__(self, client: Client) -> None:
        self._client = client
        self.posted: publisher.Receipt | None = None

    @property
    def id(self) -> str:
        """Names the message for ever. Waits until there is room for it in the window."""
        return self._client.thread.run(self._posted()).id

    def result(self) -> Published:
        """What became of it; raises as `publish` does."""
        return self._client.thread.run(self._result())

    async def _posted(self) -> publisher.Receipt:
        await self._client.take_posts()
        assert self.posted is not None
        return self.posted

    async def _result(self) -> Published:
        return await (await self._posted())


class Posts:
    """Messages on their way to the client's thread: in order, and bounded."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Receipt, Prepared]] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, receipt: Receipt, message: Prepared) -> bool:
        """Hand it over; True if it is the first. WouldBlock when too many wait."""
        with self._lock:
            if len(self._waiting) >= HANDED_COUNT or self._bytes >= HANDED_BYTES:
                raise WouldBlock(
                    f"{len(self._waiting)} messages wait: the window of unanswered ones is full.",
                    hint="Call flush(), or use publish() or publish_many(), which wait by themselves.",
                )
            self._waiting.append((receipt, message))
            self._bytes += len(message[1])
            return len(self._waiting) == 1

    def first(self) -> tuple[Receipt, Prepared]:
        return self._waiting[0]

    def drop_first(self) -> None:
        """It has been posted."""
        with self._lock:
            _, message = self._waiting.popleft()
            self._bytes -= len(message[1])


def _blocking(
    method: Callable[Concatenate[aio.Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Client, P], T]:
    """The same, waited for."""

    @functools.wraps(method)
    def call(self: Client, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.thread.run(method(self.aio, *args, **kwargs))

    return call


def _after_posts(
    method: Callable[Concatenate[aio.Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Client, P], T]:
    """The same, waited for, and begun only when what was posted before is on its way."""

    async def work(self: Client, *args: P.args, **kwargs: P.kwargs) -> T:
        await self.take_posts()
        return await method(self.aio, *args, **kwargs)

    @functools.wraps(method)
    def call(self: Client, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.thread.run(work(self, *args, **kwargs))

    return call


def _direct(method: Callable[Concatenate[aio.Client, P], T]) -> Callable[Concatenate[Client, P], T]:
    """The same; it never waits."""

    @functools.wraps(method)
    def call(self: Client, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self.aio, *args, **kwargs)

    return call


class Client:
    """A session at a node. Make one with `mesh.sync.connect`."""

    def __init__(
        self,
        address: str | None = None,
        *,
        client: str | None = None,
        session: int | None = None,
        timeout: float = 5.0,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.aio = aio.Client(address, client=client, session=session, timeout=timeout, environ=environ)
        self._timeout = timeout
        self._thread: LoopThread | None = None
        self._posts = Posts()
        self._taking = asyncio.Lock()

    def __enter__(self) -> Client:
        self._thread = LoopThread()
        try:
            self._thread.run(self.aio.__aenter__())
        except BaseException:
            self._thread.close()
            raise
        atexit.register(self.close)  # for those who leave without leaving the context, as in a notebook
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(drain=kind is None)

    def close(self, *, drain: bool = True) -> None:
        """Wait for the answers that are still out (for some `timeout` seconds), then leave."""
        if self.is_open:
            thread, self._thread = self.thread, None
            atexit.unregister(self.close)
            try:
                thread.run(self._leave(drain))
            finally:
                thread.close()

    async def _leave(self, drain: bool) -> None:
        try:
            if drain:
                async with asyncio.timeout(self._timeout):
                    await self.take_posts()
        except TimeoutError:
            raise MeshTimeout(f"closed with {len(self._posts)} messages unsent: the node is away.") from None
        except BaseException:
            drain = False
            raise
        finally:
            await self.aio.close(drain=drain)

    @property
    def is_open(self) -> bool:
        """Can it be used here? A forked process has to connect by itself."""
        return self._thread is not None and self._thread.is_ours

    @property
    def thread(self) -> LoopThread:
        """What carries it; Closed if it is not open."""
        if self._thread is None:
            raise Closed("this client is not open.", hint="Use it inside `with mesh.sync.connect() as m:`.")
        return self._thread

    @property
    def name(self) -> str:
        """The session's absolute name."""
        return self.aio.name

    # --- publishing -------------------------------------------------------------------------------------

    publish = _after_posts(aio.Client.publish)
    publish_oneway = _after_posts(aio.Client.publish_oneway)
    flush = _after_posts(aio.Client.flush)

    def post(self, key: str, content: Content, **options: Any) -> Receipt:
        """Hand a message over and go on; options as for `publish`. `result()` or `flush()` tell more.

        Raises WouldBlock when the window of unanswered messages is full, and what `publish` raises.
        """
        message = prepared(key, content, **options)
        thread = self.thread
        self.aio.check(message)
        receipt = Receipt(self)
        if not thread.is_ours or self._posts.add(receipt, message):
            thread.begin(self.take_posts())
        return receipt

    def publish_many(self, key: str, contents: Iterable[Content], **options: Any) -> int:
        """Publish all of them under one key, and wait until all are answered; returns how many. In order."""
        count = 0
        for content in contents:
            self.post_in_turn(key, content, **options)
            count += 1
        self.flush()
        return count

    def post_in_turn(self, key: str, content: Content, **options: Any) -> Receipt:
        """As `post`, but waits for room."""
        while True:
            try:
                return self.post(key, content, **options)
            except WouldBlock:
                self.thread.run(self.take_posts())

    async def take_posts(self) -> None:
        """In the client's thread: until all that was handed over is on its way."""
        async with self._taking:
            while self._posts:
                receipt, message = self._posts.first()
                try:
                    receipt.posted = self.aio.post_prepared(message)
                except WouldBlock:
                    await self.aio.room()
                    continue
                self._posts.drop_first()

    # --- subscribing and asking ---------------------------------------------------------------------------

    def subscribe(
        self,
        key: str | None = None,
        *,
        pattern: str | None = None,
        xpath: str | None = None,
        domain: str | None = None,
        initial: bool = True,
    ) -> Subscription:
        """As `mesh.Client.subscribe`; use it with `with`."""
        made = self.aio.subscribe(key, pattern=pattern, xpath=xpath, domain=domain, initial=initial)
        return Subscription(self, made)

    def unsubscribe(self, subscription: Subscription) -> None:
        """As leaving its context does."""
        subscription.unsubscribe()

    def events(self) -> Iterator[Event]:
        """What happens to this client from now on, until it is closed."""
        events = self.aio.events()

        async def following() -> Event | None:
            return await anext(events, None)

        while self.is_open and (event := self.thread.run(following())) is not None:
            yield event

    get = _blocking(aio.Client.get)
    call = _blocking(aio.Client.call)
    ping = _blocking(aio.Client.ping)

    # --- not in this release ------------------------------------------------------------------------------

    erase = _blocking(aio.Client.erase)
    send = _blocking(aio.Client.send)
    request = _blocking(aio.Client.request)
    gather = _blocking(aio.Client.gather)
    inbox = _direct(aio.Client.inbox)
    serve = _direct(aio.Client.serve)
    queue = _direct(aio.Client.queue)
    transaction = _direct(aio.Client.transaction)
    map = _direct(aio.Client.map)
    counter = _direct(aio.Client.counter)
    lock = _direct(aio.Client.lock)


class Subscription:
    """Messages of one query: `for message in subscription`, or `.batches()`, in one thread at a time.

    A context manager: leaving it unsubscribes.
    """

    def __init__(self, client: Client, made: subscription.Subscription) -> None:
        self._client, self._made = client, made
        self._messages: Iterator[Message] = iter(())
        self._asked: Future[Batch | None] | None = None
        self._given = False  # a batch that is not counted as used yet

    @property
    def id(self) -> str:
        """Names it within its session; never changes."""
        return self._made.id

    @property
    def dropped(self) -> int:
        """Messages that this subscriber was too slow for."""
        return self._made.dropped

    def __enter__(self) -> Subscription:
        self._client.thread.run(self._made.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unsubscribe()

    def unsubscribe(self) -> None:
        """Want no more of it."""
        if self._client.is_open:
            self._client.thread.run(self._made.unsubscribe())

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        while True:
            for message in self._messages:
                return message
            batch = self.next_batch()
            if batch is None:
                raise StopIteration
            self._messages = iter(batch)

    def batches(self) -> Iterator[Batch]:
        """Messages in the batches in which they came."""
        while (batch := self.next_batch()) is not None:
            yield batch

    def next_batch(self, timeout: float | None = None) -> Batch | None:
        """The next one; None when the subscription was ended. MeshTimeout when none comes in so many seconds.

        To ask for it says that the last one is used up.
        """
        if self._asked is None:
            if self._client.is_closed:
                return None
            self._asked = self._client.thread.begin(self._following())
        asked = self._asked
        try:
            batch = asked.result(timeout)  # interrupted, it stays asked, and nothing gets lost
        except TimeoutError:
            if asked.done():
                raise
            raise MeshTimeout(f"no message came within {timeout:g} s.") from None
        self._asked = None
        return batch

    async def _following(self) -> Batch | None:
        if self._given:
            self._made.count()
        self._given = False
        batch = await self._made.next_batch()
        self._given = batch is not None
        return batch


def connect(
    address: str | None = None,
    *,
    client: str | None = None,
    session: int | None = None,
    timeout: float = 5.0,
    environ: Mapping[str, str] = os.environ,
) -> Client:
    """A client of the node at `address`, as a context manager; arguments and errors as for `mesh.connect`."""
    return Client(address, client=client, session=session, timeout=timeout, environ=environ)
