"""Rows 64 and 66: bytes that no client sends, on the sockets of real nodes."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager

import pytest

import mesh
from mesh.wire import commands as c
from mesh.wire.limits import FRAMES
from tests.mesh.meshes import LIMIT, Mesh, eventually
from tests.mesh.running import RunningNode, running, until
from tests.mesh.security.keyed import at, keyed_mesh

MIB = 1 << 20
TAKEN = 32 * MIB  # bytes of a too large message that a node may read, with the buffers of both sockets
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" + bytes(31)
MORE, LONG, COMMAND = 1, 2, 4  # flags of a frame of ZMTP
HELLO = c.encode(c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client="mallory", stream=b"s" * 16))


def frame(content: bytes, flags: int = 0, size: int | None = None) -> bytes:
    """Return a frame of ZMTP, which may claim a size that it does not have."""
    return struct.pack(">BQ", flags | LONG, len(content) if size is None else size) + content


def ready() -> bytes:
    """Return the READY command of a DEALER."""
    properties = b"\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"
    return frame(b"\x05READY" + properties, COMMAND)


@contextlib.contextmanager
def raw(node: RunningNode) -> Iterator[socket.socket]:
    """A connection after the handshake of ZMTP."""
    host, _, port = node.tcp.removeprefix("tcp://").rpartition(":")
    with socket.create_connection((host, int(port)), LIMIT) as connection:
        connection.sendall(GREETING + ready())
        until(lambda: b"READY" in connection.recv(4096, socket.MSG_PEEK))
        yield connection


def is_cut(connection: socket.socket) -> bool:
    """Return whether the node has closed the connection. What it sent before is discarded."""
    try:
        while connection.recv(65536, socket.MSG_DONTWAIT):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def too_much(kind: str) -> Iterable[bytes]:
    """Yield the bytes of one message before HELLO that is larger than any client may send."""
    match kind:
        case "one frame":
            yield frame(b"", size=1 << 40)
            for _ in range(100):
                yield bytes(MIB)
        case "a frame that is a little too large":
            yield frame(bytes(MIB), size=100 * MIB)
            for _ in range(99):
                yield bytes(MIB)
        case "many small parts":
            for _ in range(20 * FRAMES):
                yield frame(b"", MORE) * 50
            yield frame(b"")
        case "many frames that follow a hello":
            yield frame(HELLO, MORE)
            for _ in range(3 * FRAMES):
                yield frame(b"x", MORE)
            yield frame(b"")


@pytest.mark.parametrize(
    "kind",
    [
        "one frame",
        "a frame that is a little too large",
        "many small parts",
        "many frames that follow a hello",
    ],
)
def test_row_64_a_message_over_the_limits_is_cut_or_refused_and_not_read_to_its_end(kind: str) -> None:
    """Another client continues meanwhile. The connection guard handles a message that never ends."""

    async def scenario(node: RunningNode) -> None:
        async with mesh.connect("heron", environ=node.environ) as good, good.subscribe("k") as subscription:
            await good.publish("k", b"before")
            taken = 0
            with raw(node) as connection:
                with contextlib.suppress(OSError):  # it may be cut at any byte
                    for piece in too_much(kind):
                        await asyncio.to_thread(connection.sendall, piece)
                        taken += len(piece)
                assert taken < TAKEN, f"{taken / MIB:.0f} MiB"
                await good.publish("k", b"meanwhile")
                await eventually(lambda: is_cut(connection))
            async with asyncio.timeout(LIMIT):
                heard = [(await anext(subscription)).content for _ in range(2)]
            assert heard == [b"before", b"meanwhile"]

    with running("heron") as node:
        asyncio.run(scenario(node))


class Recorder:
    """A proxy that passes everything on, and keeps what each client sent, by connection and in pieces."""

    def __init__(self, host: str, port: int) -> None:
        self._there = (host, port)
        self.said: list[list[bytes]] = []
        self.port = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._came, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._there)
        pieces: list[bytes] = []
        self.said.append(pieces)
        with contextlib.suppress(OSError):
            await asyncio.gather(_pass(reader, back, pieces), _pass(there, writer, []))

    async def replay(self, pieces: list[bytes], *, in_turn: bool) -> None:
        """Send the same bytes again: at once, or each piece after an answer, until the node hangs up."""
        reader, writer = await asyncio.open_connection(*self._there)
        try:
            with contextlib.suppress(OSError, TimeoutError):
                for piece in pieces if in_turn else [b"".join(pieces)]:
                    writer.write(piece)
                    await writer.drain()
                    async with asyncio.timeout(1.0):  # some pieces have no answer
                        if not await reader.read(65536):
                            return
                async with asyncio.timeout(LIMIT):
                    while await reader.read(65536):
                        pass
        finally:
            writer.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pieces: list[bytes]) -> None:
    while data := await reader.read(65536):
        pieces.append(data)
        writer.write(data)
        await writer.drain()
    writer.close()


@pytest.mark.parametrize("in_turn", [False, True])
def test_row_66_the_bytes_of_a_session_that_were_recorded_are_worth_nothing_a_second_time(
    in_turn: bool,
) -> None:
    async def scenario() -> None:
        async with keyed_mesh("heron") as m:
            host, _, port = at(m.nodes["heron"]).removeprefix("tcp://").rpartition(":")
            recorder = Recorder(host, int(port))
            async with recorder.listening():
                url = f"tcp://127.0.0.1:{recorder.port}"
                async with mesh.connect(url, environ=m.environ, client="joe", session=1) as joe:
                    await joe.publish("k", b"once", persistent=True)
                    assert m.metric("heron", "connected_sessions") == 1
                await eventually(lambda: m.metric("heron", "connected_sessions") == 0)
                before = figures(m)
                assert recorder.said and before["published"] == 1
                for pieces in recorder.said:
                    await recorder.replay(pieces, in_turn=in_turn)
                assert figures(m) == before
            async with m.connect("heron") as good:
                assert [message.content for message in await good.get("k")] == [b"once"]

    asyncio.run(scenario())


def figures(m: Mesh) -> dict[str, int]:
    """Return counters that would change if the node accepted anything."""
    names = ("published", "repeated", "sessions", "connected_sessions", "malformed", "refused")
    return {name: m.metric("heron", name) for name in names}
