"""A client in memory: the public client, with replacements for its sockets and clocks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Unpack

from mesh.client.access import Access
from mesh.client.client import Client
from mesh.client.core.client import ClientCore
from mesh.client.options import ConnectOptions
from mesh.client.shell import Shell
from mesh.client.wired import Wired
from mesh.errors import NodeNotFound
from mesh.security.streamkey import StreamKey
from mesh.streams.outbox import Outbox
from mesh.testing.clock import ClockTimer
from mesh.testing.network import Network, Pipe
from mesh.wire.envelope import Envelope

WINDOW = 4 << 20, 1024  # unanswered bytes and envelopes


class ClientPlace(Protocol):
    """The interface of a mesh in memory for its clients.

    `find` returns the local address of the node with the name or address `wanted`, or of the first node for
    "". `record_published` receives each envelope that a client sends, with the session's name. `enter` is
    called when a client is opened in a loop.
    """

    net: Network

    def find(self, wanted: str) -> str: ...
    def record_published(self, envelope: Envelope, sender: str) -> None: ...
    def enter(self) -> None: ...


class MemoryClient(Client):
    """A client of a node in memory, which it reaches without sockets."""

    def __init__(
        self, place: ClientPlace, address: str | None, *others: str, **options: Unpack[ConnectOptions]
    ) -> None:
        self._place = place
        options["environ"] = {}
        super().__init__(address, *others, **options)

    def _made(self, name: tuple[str, int, bool], key: StreamKey) -> Shell:
        place, address = self._place, self._way.address or ""
        around = MemoryLine(place)

        def find(home: str, wanted: str) -> Access:
            return Access(place.find(wanted or address or home))

        shell = Shell(
            name, key, 2 * self._timeout, find, self._events.announce, around.carrier, around, self._wanted
        )
        around.core = shell.core
        return shell

    async def _elsewhere(self, given: str | None) -> None:
        return None


class MemoryLine:
    """The clocks, outbox and carrier of a client in memory."""

    core: ClientCore
    loop: asyncio.AbstractEventLoop  # once the client is open

    def __init__(self, place: ClientPlace) -> None:
        self._place, self._net = place, place.net
        self.outbox: Outbox | None = CommandTold(
            lambda envelope: place.record_published(envelope, self.core.line.name)
        )
        self.time, self.wall = self._net.clock.time, self._net.clock.wall

    def call_at(self, when: float, function: Callable[[], None], /) -> ClockTimer:
        def ring() -> None:
            self._net.is_touched = True
            if not self.loop.is_closed():
                function()

        return self._net.clock.call_at(when, ring)

    def timeout(self, seconds: float, /) -> MemoryTimeout:
        return MemoryTimeout(self.call_at, self.time() + seconds)

    def carrier(self, loop: asyncio.AbstractEventLoop, core: ClientCore, turn: Callable[[], None]) -> Wired:
        self._place.enter()
        self.loop = loop
        return Wired(loop, core, turn, self._wires, self.time)

    def _wires(
        self, loop: Any, came: Any, received: Any, gone: Any, idle: Any, *, failed: Any
    ) -> MemoryWires:
        return MemoryWires(self._net, loop, received, gone, idle)


class MemoryTimeout:
    """A time limit like `asyncio.timeout`, which ends at `when` in the time of the mesh."""

    def __init__(self, call_at: Callable[[float, Callable[[], None]], ClockTimer], when: float) -> None:
        self._call_at, self._when = call_at, when
        self._limit = asyncio.timeout(None)

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()
        self._timer = self._call_at(self._when, self._expire)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        await self._limit.__aexit__(kind, error, trace)

    def expired(self) -> bool:
        return self._limit.expired()

    def _expire(self) -> None:
        self._limit.reschedule(asyncio.get_running_loop().time())


class CommandTold(Outbox):
    """An outbox that reports each envelope when it is sent for the first time."""

    def __init__(self, left: Callable[[Envelope], None]) -> None:
        super().__init__(*WINDOW)
        self._left = left

    def add(self, envelope: Envelope) -> Envelope:
        numbered = super().add(envelope)
        self._left(numbered)
        return numbered


class MemoryWires:
    """The connections of one client, by keys. They are lost when the client's loop is closed."""

    name = ""  # clients are never cut off

    def __init__(
        self,
        net: Network,
        loop: asyncio.AbstractEventLoop,
        received: Callable[[Any, list[bytes]], None],
        gone: Callable[[Any], None],
        idle: Callable[[], None],
    ) -> None:
        self._net, self._loop = net, loop
        self._received, self._gone, self._idle = received, gone, idle
        self._keys: dict[Pipe, int] = {}
        self._pipes: dict[int, Pipe] = {}

    def dial(self, key: Any, address: str, keys: object = None) -> None:
        pipe = self._pipes[key] = self._net.dial(self, address)
        self._keys[pipe] = key

    def send(self, key: Any, frames: list[bytes]) -> None:
        self._net.is_touched = True
        if key in self._pipes:
            self._pipes[key].send(self, frames)

    def read_arrived(self, key: Any) -> None:
        self._net.deliver()

    def hang_up(self, key: Any) -> None:
        if key in self._pipes:
            pipe = self._pipes.pop(key)
            del self._keys[pipe]
            pipe.close_end(self)

    def close(self) -> None:
        for key in list(self._pipes):
            self.hang_up(key)

    # --- end of connections -------------------------------------------------------------------------------

    def hear(self, pipe: Pipe, frames: list[bytes]) -> None:
        if self._is_there(pipe):
            self._received(self._keys[pipe], frames)

    def on_closed(self, pipe: Pipe) -> None:
        if self._is_there(pipe):
            key = self._keys.pop(pipe)
            del self._pipes[key]
            self._gone(key)

    def turn(self) -> None:
        if not self._loop.is_closed():
            self._idle()

    def _is_there(self, pipe: Pipe) -> bool:
        self._net.is_touched = True
        if self._loop.is_closed():
            self.close()
        return pipe in self._keys


def no_node(wanted: str, names: list[str]) -> NodeNotFound:
    if wanted in names:
        return NodeNotFound(f"Node {wanted} is not running.", hint=f"Start it: m.start({wanted!r})")
    return NodeNotFound(f"The mesh has no node named {wanted!r}; its nodes: {', '.join(names)}.")
