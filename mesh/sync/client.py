"""What users without an event loop hold: `with mesh.sync.connect() as m`."""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from mesh.client import client as aio
from mesh.client.arguments import several
from mesh.client.client import Event
from mesh.client.codecs import Codec
from mesh.client.connected import TIMEOUT
from mesh.client.content import Content, Options
from mesh.client.later import Later
from mesh.client.message import T as M
from mesh.errors import MeshTimeout, PublishRefused, WouldBlock
from mesh.sync.posts import Posts, Receipt
from mesh.sync.subscription import Subscription
from mesh.sync.thread import LoopThread
from mesh.values import Headers, Published
from mesh.wire.limits import ENVELOPE_MESSAGES

P = ParamSpec("P")
T = TypeVar("T")


def _waited(
    method: Callable[Concatenate[aio.Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Client, P], T]:
    """The same, waited for."""

    @functools.wraps(method)
    def call(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.run(method, self.aio, *args, **kwargs)

    return call


class Client(Later):
    """A session at a node. Make one with `mesh.sync.connect`."""

    def __init__(
        self,
        address: str | None = None,
        *,
        client: str | None = None,
        session: int | None = None,
        timeout: float | None = None,
        cluster: str | None = None,
        environ: Mapping[str, str] = os.environ,
        codec: Codec | str = "json",
    ) -> None:
        self.aio = aio.Client(
            address,
            client=client,
            session=session,
            timeout=timeout,
            cluster=cluster,
            environ=environ,
            codec=codec,
        )
        self.thread = LoopThread()
        self._timeout = TIMEOUT if timeout is None else timeout
        self._posts = Posts()
        self._taking = asyncio.Lock()

    def __enter__(self) -> Client:
        self.thread.start()
        try:
            self.thread.run(self.aio.__aenter__)
        except BaseException:
            self.thread.close()
            raise
        atexit.register(self.close)  # for those who never leave the context, as in a notebook
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(drain=kind is None)

    def close(self, *, drain: bool = True) -> None:
        """Wait for the answers that are still out (for some `timeout` seconds), then leave.

        A process that was forked off only forgets the client: it belongs to the other one.
        """
        atexit.unregister(self.close)
        if self.thread.is_ours and self.thread.is_open:
            try:
                self.thread.run(self._leave, drain)
            finally:
                self.thread.close()

    async def _leave(self, drain: bool) -> None:
        try:
            if drain:
                async with asyncio.timeout(self._timeout):
                    await self._take_posts()
        except TimeoutError:
            raise MeshTimeout(f"closed with {len(self._posts)} messages unsent: the node is away.") from None
        finally:
            await self.aio.close(drain=drain and not self._posts)

    @property
    def name(self) -> str:
        """The session's absolute name."""
        self.thread.check()
        return self.aio.name

    def run(self, function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Have it done in the client's thread, after what was posted until now, and wait for it."""

        async def in_turn() -> T:
            await self._take_posts()
            return await function(*args, **kwargs)

        return self.thread.run(in_turn)

    # --- publishing -------------------------------------------------------------------------------------

    publish = _waited(aio.Client.publish)

    def post(self, key: str, content: Content, **options: Unpack[Options]) -> Receipt:
        """Hand a message over and go on; options as for `publish`. Its receipt or `flush()` tell the rest.

        Raises WouldBlock when the window of unanswered messages is full, and what `publish` raises.
        """
        self.thread.check()
        message = self.aio.prepared(key, content, options)
        self.aio.check(message)
        receipt = Receipt(self.run)
        if self._posts.add(receipt, message):
            self.thread.begin(self._take_posts)
        return receipt

    async def _take_posts(self) -> None:
        """Post what was handed over, as soon as there is room."""
        async with self._taking:
            while self._posts:
                receipt, message = self._posts.first()
                try:
                    receipt.posted = self.aio.post_prepared(message)
                except WouldBlock:
                    await self.aio.room()
                    continue
                self._posts.drop_first()

    def room(self) -> None:
        """Until a message can be posted."""
        self.run(self.aio.room)

    def publish_many(self, key: str, contents: Iterable[Content], **options: Unpack[Options]) -> int:
        """Publish all of them under one key, and wait until all are answered; returns how many. In order.

        A list or tuple goes fastest. Of anything else each content is taken, and posted, when there is room.
        """
        several(contents)
        count = 0
        if isinstance(contents, list | tuple):
            for at in range(0, len(contents), ENVELOPE_MESSAGES):
                some = contents[at : at + ENVELOPE_MESSAGES]
                count += self.run(self.aio.post_some, key, some, options)
        else:
            for content in contents:
                while True:
                    try:
                        self.post(key, content, **options)
                        break
                    except WouldBlock:
                        self.room()
                count += 1
        self.flush()
        return count

    def publish_oneway(self, key: str, content: Content, **options: Unpack[Options]) -> None:
        """Publish without asking what becomes of it; waits only for room."""
        self.run(self.aio.publish_oneway, key, content, **options)

    def flush(self) -> None:
        """Until every message has its answer; raises the first refusal whose receipt nobody awaited."""
        self.run(self.aio.flush)

    def final(self, message: Published | Receipt) -> Published:
        """The last word on a message: after FORWARD_WARNING, what its master says of it, when it does.

        Raises PublishRefused when it was refused or expired meanwhile, BadQuery for a message that this
        session did not publish.
        """
        return self.run(self._final, message)

    async def _final(self, message: Published | Receipt) -> Published:
        return await self.aio.final(await message.handed() if isinstance(message, Receipt) else message)

    def waiting(self) -> tuple[int, str]:
        """(messages of this session that wait for their master, what the last of them waits for)."""
        return self.aio.waiting()

    @overload
    def send(
        self,
        destination: str,
        content: Content,
        *,
        force_queuing: bool = False,
        domain: str | None = None,
        key: str = "",
        headers: Headers | Mapping[str, str] | None = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        codec: Codec | str | None = None,
    ) -> Published: ...
    @overload
    def send(
        self,
        destination: list[str] | tuple[str, ...],
        content: Content,
        *,
        force_queuing: bool = False,
        domain: str | None = None,
        key: str = "",
        headers: Headers | Mapping[str, str] | None = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        codec: Codec | str | None = None,
    ) -> list[Published | PublishRefused]: ...
    def send(self, destination: Any, content: Content, **options: Any) -> Any:
        """Send to one session or client, and wait for the answer; to several: one result each, in order."""
        send: Any = self.aio.send  # its two forms are those above
        return self.run(send, destination, content, **options)

    # --- subscribing and asking ---------------------------------------------------------------------------

    def subscribe(
        self,
        key: str | None = None,
        *,
        pattern: str | None = None,
        xpath: str | None = None,
        domain: str | None = None,
        initial: bool = True,
        overflow: str = "block",
        max_queue: int = 0,
        type: type[M] | None = None,
    ) -> Subscription[M]:
        """Messages of a key, of a topic pattern (`sensors/+/temp`, `sensors/#`) or of a domain.

        Use it with `with`; inside, every node that can be reached knows of it. `initial`: begin with
        the last value of each topic. `overflow`: what gives way when transient messages come faster than
        they are taken: "block" (publishers wait while it makes progress, then the newest are dropped),
        "drop_newest", "drop_oldest", or "error" (it ends with SlowConsumer). `max_queue`: so many messages
        may be under way, and as many wait; 0: as many as the node's limits allow. `type`: what
        `message.value` is, a dataclass, a msgspec Struct, a pydantic model or such as dict[str, float].
        Raises BadKey, BadQuery, BadType.
        """
        made = self.aio.subscribe(
            key,
            pattern=pattern,
            xpath=xpath,
            domain=domain,
            initial=initial,
            overflow=overflow,
            max_queue=max_queue,
            type=type,
        )
        return Subscription(self.thread, made)

    def unsubscribe(self, subscription: Subscription[Any]) -> None:
        """As leaving its context does."""
        subscription.unsubscribe()

    def inbox(self, *, type: type[M] | None = None) -> Subscription[M]:
        """What is sent to this session, in the order in which it came.

        Use it with `with`. What nobody has taken when it is left, or came after, waits at the node. A
        session has one: BadQuery while it is open already. `type`: as for `subscribe`.
        """
        return Subscription(self.thread, self.aio.inbox(type=type))

    get = _waited(aio.Client.get)
    erase = _waited(aio.Client.erase)
    route = _waited(aio.Client.route)

    def call(self, verb: str, **arguments: Any) -> Any:
        """Ask the node: "ls", "info" or "down"."""
        return self.run(self.aio.call, verb, **arguments)

    def ping(self) -> float:
        """Seconds to the node and back."""
        return self.thread.run(self.aio.ping)

    def events(self) -> Iterator[Event]:
        """What happens to this client from now on, until it is closed."""
        events: AsyncIterator[Event] | None = None

        async def following() -> Event | None:
            nonlocal events
            events = events or self.aio.events()  # in the loop of the client, and nowhere else
            return await anext(events, None)

        while self.thread.is_open and (event := self.thread.run(following)) is not None:
            yield event


def connect(
    address: str | None = None,
    *,
    client: str | None = None,
    session: int | None = None,
    timeout: float | None = None,
    cluster: str | None = None,
    environ: Mapping[str, str] = os.environ,
    codec: Codec | str = "json",
) -> Client:
    """A client of the node at `address`, as a context manager; arguments and errors as for `mesh.connect`."""
    return Client(
        address,
        client=client,
        session=session,
        timeout=timeout,
        cluster=cluster,
        environ=environ,
        codec=codec,
    )
