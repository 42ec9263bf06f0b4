"""What users hold: `async with mesh.connect() as m`."""

from __future__ import annotations

import asyncio
import getpass
import os
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from mesh.client.calls import Calls
from mesh.client.content import Content, Prepared, prepared
from mesh.client.find import find_node
from mesh.client.later import Later
from mesh.client.message import Batch, Message
from mesh.client.publisher import Publisher, Receipt
from mesh.client.session import Session
from mesh.client.subscription import Subscription
from mesh.client.subscriptions import Subscriptions, query
from mesh.errors import (
    Closed,
    MeshError,
    MeshTimeout,
    RemoteError,
    WouldBlock,
)
from mesh.local.private import cookie, state_dir
from mesh.values import Headers, Published, check_domain
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to this client: "connected", "disconnected", "refused"."""

    kind: str
    text: str


class Client(Later):
    """A session at a node. Make one with `mesh.connect`; all calls from one event loop."""

    def __init__(
        self,
        address: str | None = None,
        *,
        client: str | None = None,
        session: int | None = None,
        timeout: float = 5.0,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._address, self._environ = address, environ
        self._home = ""  # the name of the node where we are
        self._name = (client or _default_name(), session or 0)
        self._timeout = timeout
        self._stream = secrets.token_bytes(16)
        self._session: Session | None = None
        self._publisher = Publisher(self._stream, self._send_envelope, self._look)
        self._calls = Calls(self._send, 2 * timeout)
        self._subscriptions = Subscriptions(self._calls, self._open)
        self._events: list[asyncio.Queue[Event | None]] = []
        self._closed = False

    # --- coming and going -------------------------------------------------------------------------------

    async def __aenter__(self) -> Client:
        client, session = self._name
        self._session = Session(
            client, session, self._stream, lambda: cookie(state_dir(self._environ)),
            lambda: find_node(self._address, self._environ, self._home),
            self._welcomed, self._received, self._tell,
        )  # fmt: skip
        try:
            await self._session.open(self._timeout)
        except BaseException:
            self._session.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(drain=kind is None)

    async def close(self, *, drain: bool = True) -> None:
        """Wait for the answers that are still out (at most `timeout` seconds), then leave."""
        if self._closed or self._session is None:
            return
        try:
            if drain:
                async with asyncio.timeout(self._timeout):
                    await self._publisher.flush()
        except TimeoutError:
            left = self._publisher.outbox.unanswered
            raise MeshTimeout(f"closed with {left} messages unanswered: the node is away.") from None
        finally:
            self._close()

    def _close(self) -> None:
        assert self._session is not None
        self._subscriptions.send_ack()
        self._closed = True
        gone = Closed("this client is closed.")
        self._publisher.fail(gone)
        self._subscriptions.end(gone)
        self._calls.close(gone)
        for queue in self._events:
            queue.put_nowait(None)
        self._session.close()

    @property
    def name(self) -> str:
        """The session's absolute name."""
        return self._open().name

    def _open(self) -> Session:
        if self._session is None or self._closed:
            raise Closed("this client is not open.", hint="Use it inside `async with mesh.connect() as m:`.")
        return self._session

    # --- publishing -------------------------------------------------------------------------------------

    async def publish(
        self,
        key: str,
        content: Content,
        *,
        domain: str | None = None,
        xml: str | None = None,
        headers: Headers | Mapping[str, str] | None = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        local_only: bool = False,
    ) -> Published:
        """Publish and wait for the answer. `expiry` in seconds from now.

        Raises PublishRefused (with `.code`), BadKey, MessageTooLarge, Closed. Concurrent calls share
        envelopes.
        """
        receipt = await self._post_when_room(
            key, content, domain=domain, xml=xml, headers=headers, persistent=persistent, expiry=expiry,
            priority=priority, local_only=local_only,
        )  # fmt: skip
        return await receipt

    def post(
        self,
        key: str,
        content: Content,
        *,
        domain: str | None = None,
        xml: str | None = None,
        headers: Headers | Mapping[str, str] | None = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        local_only: bool = False,
    ) -> Receipt:
        """Append a message and go on. Await the receipt, or `flush()`, to learn what became of it.

        Raises WouldBlock when the window of unanswered messages is full, and what `publish` raises.
        """
        if self._session is None or self._closed:
            self._open()
        message = prepared(key, content, domain, xml, headers, persistent, expiry, priority, local_only)
        return Receipt(self._publisher, message[2], self._publisher.post(*message))

    def post_prepared(self, message: Prepared) -> Receipt:
        """As `post`, for a caller that prepares its messages in another thread."""
        self._open()
        return Receipt(self._publisher, message[2], self._publisher.post(*message))

    def check(self, message: Prepared) -> None:
        """Raise what `post_prepared` would say of the message itself; in any thread."""
        self._publisher.check(message[0], message[1])
        check_domain(message[2])

    async def room(self) -> None:
        """Until the window of unanswered messages lets one be posted."""
        self._open()
        await self._publisher.room()

    async def publish_many(self, key: str, contents: Iterable[Content], **options: Any) -> int:
        """Publish all of them under one key, and wait until all are answered; returns how many. In order."""
        count = 0
        for content in contents:
            while True:
                try:
                    self.post(key, content, **options)
                    break
                except WouldBlock:
                    await self.room()
            count += 1
            if count % 4096 == 0:
                await asyncio.sleep(0)  # others of this loop want their turn
        await self.flush()
        return count

    async def publish_oneway(self, key: str, content: Content, **options: Any) -> None:
        """Publish without asking what becomes of it; waits only for room."""
        await self._post_when_room(key, content, **options)

    async def _post_when_room(self, key: str, content: Content, **options: Any) -> Receipt:
        while True:
            try:
                return self.post(key, content, **options)
            except WouldBlock:  # also when what was posted before, in another domain, took the last room
                await self.room()

    async def flush(self) -> None:
        """Until every message has its answer; raises the first refusal whose receipt nobody awaited."""
        self._open()
        await self._publisher.flush()

    # --- subscribing ------------------------------------------------------------------------------------

    def subscribe(
        self,
        key: str | None = None,
        *,
        pattern: str | None = None,
        xpath: str | None = None,
        domain: str | None = None,
        initial: bool = True,
    ) -> Subscription:
        """Messages of a key, of a topic pattern (`sensors/+/temp`, `sensors/#`) or of a domain.

        Use it with `async with`; inside, every node that can be reached knows of it. `initial`: begin with
        the last value of each topic. Raises BadKey, BadQuery.
        """
        return self._subscriptions.make(query(key, pattern, xpath, domain), initial)

    async def unsubscribe(self, subscription: Subscription) -> None:
        """As leaving its context does."""
        await subscription.unsubscribe()

    async def get(
        self, key: str | None = None, *, xpath: str | None = None, domain: str | None = None,
        pattern: str | None = None, fresh: bool = False,
    ) -> list[Message]:  # fmt: skip
        """The last value of each topic that matches, from every node that can be reached.

        While every node is master of its own topics, nothing is cached: `fresh` changes nothing.
        """
        q = query(key, pattern, xpath, domain)
        arguments = {"kind": q.kind, "text": q.text, "domain": q.domain}
        _, envelopes = await self._calls.ask(lambda request: c.Call(request, "get", arguments))
        return [message for envelope in envelopes for message in Batch(envelope)]

    # --- asking -----------------------------------------------------------------------------------------

    async def call(self, verb: str, **arguments: Any) -> Any:
        """Ask the node: "ls", "info" or "down"."""
        value, _ = await self._calls.ask(lambda request: c.Call(request, verb, arguments))
        return value

    async def ping(self) -> float:
        """Seconds to the node and back."""
        start = time.perf_counter()
        await self.call("info")
        return time.perf_counter() - start

    async def events(self) -> AsyncIterator[Event]:
        """What happens to this client from now on, until it is closed."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._events.append(queue)
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._events.remove(queue)

    # --- the session's other end --------------------------------------------------------------------------

    def _send(self, command: c.Command) -> bool:
        return self._session is not None and self._session.send(command)

    def _send_envelope(self, envelope: Envelope) -> bool:
        return self._session is not None and self._session.publish(envelope)

    def _look(self) -> None:
        if self._session is not None:
            self._session.look()

    def _welcomed(self, welcome: c.Welcome, is_new: bool) -> None:
        """Connected, perhaps again: say what the node may not know."""
        session = self._open()
        self._home = welcome.node.name
        self._publisher.max_content = welcome.max_content
        self._publisher.outbox.window = welcome.window
        self._subscriptions.again(is_new)
        self._calls.again()
        for envelope in self._publisher.outbox.resend():
            session.publish(envelope)
        self._tell("connected", session.name)

    def _received(self, command: c.AnyCommand, envelopes: list[Envelope]) -> None:
        match command:
            case c.Items():
                self._subscriptions.items(command, envelopes)
            case c.Answers():
                for answer in command.answers:
                    self._publisher.answered(answer)
            case c.Reply():
                self._calls.replied(command, envelopes)
            case c.Pong():
                pass
            case _:
                raise RemoteError(f"a node sent {type(command).__name__} to a client")

    def _tell(self, kind: str, text: str) -> None:
        for queue in self._events:
            queue.put_nowait(Event(kind, text))


def connect(
    address: str | None = None,
    *,
    client: str | None = None,
    session: int | None = None,
    timeout: float = 5.0,
    environ: Mapping[str, str] = os.environ,
) -> Client:
    """A client of the node at `address` (`tcp://…`, `ipc://…`, or a local node's name), as a context manager.

    Without an address: `MESH_URL`, else the only node of this user on this machine. `session` is a
    well-known positive number, or None for one that the node makes up. `timeout` in seconds.
    Entering it raises NodeNotFound or Refused.
    """
    return Client(address, client=client, session=session, timeout=timeout, environ=environ)


def _default_name() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "client"
    return "".join(ch if ch.isalnum() or ch in "_.-" else "-" for ch in user)[:64]


__all__ = ["Client", "Event", "MeshError", "connect"]
