"""A real client on a fake wire. The test plays the node."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from mesh.client import wired as wiring
from mesh.client.client import Client
from mesh.client.receipt import Receipt
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames, read, write
from tests.waiting import LIMIT, eventually
from tools.costing.wire import WELCOME, Wire

WAITS = "waits at bilbo for frodo (polling)"


class HeardWire(Wire):
    """A fake wire that keeps all commands, and the connections that the client closed.

    `welcome` is the answer to each HELLO.
    """

    welcome: c.Welcome = WELCOME
    is_deaf = False  # answers only HELLO

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.said: list[c.Command] = []
        self.key: Any = 0  # of the last connection
        self.hung_up: list[Any] = []

    def dial(self, key: Any, address: str, curve: Any) -> None:
        self.key = key

    def hang_up(self, key: Any) -> None:
        self.hung_up.append(key)

    def send(self, key: Any, frames: list[bytes]) -> None:
        command, envelopes = read(frames)
        self.said.append(command)
        self.published += envelopes
        if isinstance(command, c.Hello):
            self._answer(key, self.welcome)
        elif not self.is_deaf:
            match command:
                case c.Subscribe() | c.Unsubscribe() if command.request:
                    self._answer(key, c.Reply(command.request, {}))


class DeafWire(HeardWire):
    """A fake wire that lets every client in, and then answers nothing."""

    is_deaf = True


def at_boot(boot: int) -> c.Welcome:
    """Return the WELCOME of that boot of the node, which remembers all messages of the client."""
    return replace(WELCOME, node=replace(WELCOME.node, boot=boot), next=1 << 20)


class Wired:
    """A connected client, and the messages that it has sent."""

    def __init__(self, client: Client, wire: HeardWire) -> None:
        self.client, self.wire = client, wire
        self._events = client.events()
        self._later: list[tuple[str, str]] = []
        self._seq = 0  # of the last delivery

    @property
    def sent(self) -> list[Envelope]:
        return self.wire.published

    def hear(self, command: c.Command, *envelopes: Envelope) -> None:
        """Let the client receive a command on the current connection."""
        self.wire.hear(self.wire.key, write(command, envelopes))
        self.wire.idle()

    def deliver(self, number: int, envelope: Envelope, master: bytes = b"m" * 16) -> None:
        """Deliver an envelope to a subscription."""
        self._seq += 1
        head = c.ItemHead(body_frames(envelope), 0, master, ((number, b""),))
        self.hear(c.Items(self._seq, (head,)), envelope)

    async def lose(self, boot: int = 1) -> None:
        """Close the connection, and wait until the client is connected again.

        Another boot is another process of the node.
        """
        key, self.wire.welcome = self.wire.key, at_boot(boot)
        self._seq = 0 if boot > 1 else self._seq
        self.hear(c.Bye("it goes"))
        await eventually(lambda: self.wire.key != key and self.client._core.line.is_up)

    def post(self, content: bytes = b"x", key: str = "k", domain: str = "") -> Receipt:
        return self.client.post(key, content, domain=domain)

    def warn(self, first: int, last: int) -> None:
        self.answer(first, last, "FORWARD_WARNING", WAITS)

    async def later(self) -> list[tuple[str, str]]:
        """Return (id, reason) of each message that was refused later and that no caller awaited."""
        while True:
            following = asyncio.ensure_future(anext(self._events))
            await turns()
            if not following.done():
                following.cancel()
                return self._later
            event = following.result()
            assert event.kind == "refused-later"
            name, _, why = event.text.partition(": ")
            self._later.append((name, why))

    def answer(
        self, first: int, last: int, state: str = "OK", text: str = "", matched: int = 0, domain: str = ""
    ) -> None:
        self.hear(c.Answers((c.Answer(domain, first, last, state, matched, text),)))


async def turns() -> None:
    """Run the event loop for ten turns, so that waiting tasks continue."""
    for _ in range(10):
        await asyncio.sleep(0)


@asynccontextmanager
async def wired(kind: type[HeardWire] = HeardWire, client: Client | None = None) -> AsyncIterator[Wired]:
    """Connect a client on a wire of its own. In the end it is closed without waiting for answers."""
    client = client or Client("ipc:///run/heron", client="joe")
    with patch.object(wiring, "Sockets", kind):
        await client.__aenter__()
    assert isinstance(Wire.made, kind)
    made = Wired(client, Wire.made)
    try:
        yield made
    finally:
        await client.close(drain=False)


def scenario(test: Callable[[Wired], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run the test in an event loop of its own, with a client of its own."""

    @functools.wraps(test)
    def run() -> None:
        async def told() -> None:
            async with wired() as it:
                await test(it)

        asyncio.run(asyncio.wait_for(told(), LIMIT))

    del run.__wrapped__  # pytest would take the client for a fixture
    return run
