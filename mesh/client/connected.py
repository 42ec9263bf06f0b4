"""How does a client come and go, and who of it hears what its node says?"""

from __future__ import annotations

import asyncio
import getpass
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from mesh.client.access import Access, access
from mesh.client.calls import Calls
from mesh.client.find import find_node
from mesh.client.publisher import Publisher
from mesh.client.session import Session
from mesh.client.subscriptions import Subscriptions
from mesh.errors import Closed, MeshTimeout, PublishRefused, RemoteError
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to this client.

    "connected", "disconnected", "refused": by its node. "refused-later": a message that had to wait for
    its master and was then refused, while nobody awaited its last answer; the text is its id and why.
    """

    kind: str
    text: str


class Connected:
    """A session at a node, and its parts; what users call stands in those who inherit."""

    def __init__(
        self,
        address: str | None = None,
        *,
        client: str | None = None,
        session: int | None = None,
        timeout: float = 5.0,
        cluster: str | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._address, self._cluster, self._environ = address, cluster, environ
        self._home = ""  # the name of the node where we are
        self._name = (client or _default_name(), session or 0)
        self._timeout = timeout
        self._stream = secrets.token_bytes(16)
        self._session: Session | None = None
        self._publisher = Publisher(self._stream, self._send_envelope, self._look, self._refused_later)
        self._calls = Calls(self._send, 2 * timeout)
        self._subscriptions = Subscriptions(self._calls, self._open)
        self._events: list[asyncio.Queue[Event | None]] = []
        self._closed = False

    # --- coming and going -------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        client, session = self._name
        self._session = Session(
            client, session, self._stream, self._find, self._welcomed, self._received, self._tell
        )
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

    async def events(self) -> AsyncIterator[Event]:
        """What happens to this client from now on, until it is closed."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._events.append(queue)
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._events.remove(queue)

    def _find(self) -> Access:
        address = find_node(self._address, self._environ, self._home)
        return access(address, self._cluster, self._environ)

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
        for envelope in self._publisher.outbox.resend():
            session.publish(envelope)
        self._calls.again()  # after what was published before: an erase must not come first
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
            case c.Ended():
                self._subscriptions.ended(command)
            case c.Pong():
                pass
            case _:
                raise RemoteError(f"a node sent {type(command).__name__} to a client")

    def _refused_later(self, message: str, error: PublishRefused) -> None:
        self._tell("refused-later", f"{message}: {error}")

    def _tell(self, kind: str, text: str) -> None:
        for queue in self._events:
            queue.put_nowait(Event(kind, text))


def _default_name() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "client"
    return "".join(ch if ch.isalnum() or ch in "_.-" else "-" for ch in user)[:64]
