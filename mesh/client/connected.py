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
from weakref import ref

from mesh.client.access import Access, access
from mesh.client.arguments import seconds, text, whole
from mesh.client.calls import Calls
from mesh.client.caution import UNREADABLE, Caution
from mesh.client.find import find_node
from mesh.client.forgotten import closed_in_the_end, weakly
from mesh.client.oneloop import check_loop, not_open
from mesh.client.publisher import Publisher
from mesh.client.session import Session
from mesh.client.subscriptions import Subscriptions
from mesh.errors import Closed, MeshTimeout, PublishRefused, RemoteError
from mesh.names import node_name
from mesh.security.streamkey import STREAM_SEED, StreamKey
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.limits import LARGEST_NUMBER

TIMEOUT = 5.0  # s, unless somebody says otherwise


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
        timeout: float | None = None,
        cluster: str | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        waits = timeout is not None
        timeout = TIMEOUT if timeout is None else seconds("timeout", timeout)
        number = 0 if session is None else whole("session", session, 1, LARGEST_NUMBER)
        self._address, self._cluster = text("address", address), text("cluster", cluster)
        self._environ = environ
        self._home = ""  # the name of the node where we are
        self._name = (_default_name() if client is None else node_name(client), number, client is not None)
        self._timeout = timeout
        self._waits = waits
        self._key = StreamKey(secrets.token_bytes(STREAM_SEED))
        self._stream = self._key.id
        self._session: Session | None = None
        self._publisher = Publisher(self._stream, self._send_envelope, self._look, self._refused_later)
        self._caution = Caution(self._publisher.is_answered)
        self._calls = Calls(self._send, 2 * timeout, self._moved)
        self._subscriptions = Subscriptions(self._calls, self._open)
        self._events: list[asyncio.Queue[Event | None]] = []
        self._closed = False

    # --- coming and going -------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._session is not None:
            raise Closed("this client was opened before.", hint="Make another with `mesh.connect()`.")
        # The loop keeps the session, and nobody but its user shall keep the client.
        session = self._session = Session(
            *self._name,
            self._key,
            weakly(self._find, _nowhere),
            weakly(self._welcomed),
            ref(self),
            type(self)._received,
            weakly(self._tell),
            weakly(self._objected),
        )
        self._publisher.loop = session.loop
        self._end = closed_in_the_end(session, weakly(self._close, session.close))
        try:
            await anext(self._end)
            await session.open(self._timeout, self._waits)
        except BaseException:
            session.close()
            self._session = None  # it may be tried again
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
        check_loop(self._session.loop)
        try:
            if drain:
                async with asyncio.timeout(self._timeout):
                    await self._publisher.flush()
        except TimeoutError:
            left = self._publisher.outbox.unanswered
            raise MeshTimeout(f"closed with {left} messages unanswered: the node is away.") from None
        finally:
            self._close()
            await self._end.aclose()

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
            raise not_open(None if self._session is None else self._session.loop)
        return self._session

    def _here(self) -> Session:
        """The open session, for one who will wait for what it brings. Closed, WrongLoop."""
        session = self._open()
        check_loop(session.loop)
        return session

    async def events(self) -> AsyncIterator[Event]:
        """What happens to this client from now on, until it is closed."""
        check_loop(self._publisher.loop)
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

    def _moved(self) -> float:
        """When a part of a long message went, or came."""
        return self._session.moved if self._session is not None else float("-inf")

    def _send_envelope(self, envelope: Envelope) -> bool:
        if self._caution.is_on and not self._caution.add(envelope):
            return False
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
        for envelope in self._caution.begin(self._publisher.outbox.resend()):
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
                if self._caution.is_on:
                    self._go_on()
            case c.Reply():
                self._calls.replied(command, envelopes)
            case c.Ended():
                self._subscriptions.ended(command)
            case c.Pong() | c.Unknown():
                pass
            case c.Piece():
                self._open().piece(command)
            case c.PieceAck():
                self._open().piece_acked(command)
            case c.Ping():  # another wants this session, and the node asks whether it is in use
                self._send(c.Pong(command.stamp))
            case _:
                raise RemoteError(f"a node sent {type(command).__name__} to a client")

    def _go_on(self) -> None:
        """With the next envelope, since the one before it is answered."""
        for envelope in self._caution.answered():
            self._open().publish(envelope)

    def _objected(self, refusal: c.Refuse) -> None:
        """The node hung up over something that we said; an envelope would come again and again."""
        bad = self._caution.refused() if refusal.code in UNREADABLE else None
        if bad is not None:
            text = f"{self._home} hung up over it twice, and over nothing else: {refusal.reason}"
            self._publisher.answered(c.Answer(bad.domain, bad.first, bad.last, refusal.code, text=text))

    def _refused_later(self, message: str, error: PublishRefused) -> None:
        self._tell("refused-later", f"{message}: {error}")

    def _tell(self, kind: str, text: str) -> None:
        for queue in self._events:
            queue.put_nowait(Event(kind, text))


def _nowhere() -> Access:
    raise Closed("this client was forgotten.")


def _default_name() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "client"
    return "".join(ch if ch.isalnum() or ch in "_.-" else "-" for ch in user)[:64]
