"""Hostile input to a node: it is refused, counted and reported, and other clients continue."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgpack
import pytest
import zmq
from msgspec.structs import replace

import mesh
from mesh.config import load
from mesh.errors import DataDirRefused, NodeInUse, Refused
from mesh.proof import stream_of
from mesh.shell.starting import start
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read
from tests.mesh.meshes import Mesh, eventually, mesh_of, take
from tests.mesh.running import environment, running, state_directory

KEY = b"s" * 32
STREAM = stream_of(KEY)
HELLO = c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client="mallory", stream=STREAM, key=KEY)


class Stranger:
    """A socket that sends any frames that a test passes."""

    def __init__(self, address: str) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self._context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(address)

    async def hears(self) -> c.Command:
        """Return the next command from the node."""
        await eventually(lambda: self.socket.poll(0))
        return read(self.socket.recv_multipart())[0]

    def close(self) -> None:
        self.socket.close()
        self._context.term()


async def with_stranger(scenario: Callable[[Mesh, Stranger], Awaitable[None]], *, tcp: bool = False) -> None:
    """Run `scenario` with a node and a stranger, and check that a good client works before and after."""
    async with mesh_of("a") as m, m.connect("a") as good, good.subscribe("k") as sub:
        node = m.nodes["a"].described()
        stranger = Stranger(node["tcp"][0] if tcp else node["ipc"])
        try:
            await scenario(m, stranger)
        finally:
            stranger.close()
        await good.publish("k", b"still here")
        assert (await take(sub, 1))[0].content == b"still here"


MALFORMED: list[list[bytes]] = [
    [b""],
    [b"GET / HTTP/1.1"],
    [b"\xc1"],
    [c.encode(HELLO)[:-3]],
    [msgpack.packb([99, 1])],
    [msgpack.packb({"kind": 1})],
    [msgpack.packb(list(range(5)))],
    [b"\xdd\xff\xff\xff\xff"],
    [c.encode(c.Ping(1)), b"frame", b"too many"],
    [c.encode(c.Ping(1))] * 140,
]


def test_a_malformed_message_is_refused_and_counted() -> None:
    async def scenario(m: Mesh, stranger: Stranger) -> None:
        for count, frames in enumerate(MALFORMED, 1):
            stranger.socket.send_multipart(frames)
            answer = await stranger.hears()
            assert isinstance(answer, c.Refuse) and answer.code in ("MALFORMED", "FRAME_TOO_LARGE"), frames
            assert m.metric("a", "malformed") == count

    asyncio.run(with_stranger(scenario))


def test_who_is_not_in_breaks_the_protocol_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(m: Mesh, stranger: Stranger) -> None:
        stranger.socket.send(b"GET / HTTP/1.1")
        await stranger.hears()
        stranger.socket.send(c.encode(HELLO))
        assert isinstance(await stranger.hears(), c.Welcome)
        stranger.socket.send(b"GET / HTTP/1.1")
        await stranger.hears()
        said = [record for record in caplog.records if "broke the protocol" in record.message]
        assert [record.levelname for record in said] == ["INFO", "WARNING"]
        assert m.metric("a", "malformed") == 2

    with caplog.at_level("INFO"):
        asyncio.run(with_stranger(scenario))


def test_whoever_speaks_before_hello_is_asked_who_it_is() -> None:
    async def scenario(m: Mesh, stranger: Stranger) -> None:
        stranger.socket.send(c.encode(c.Ping(1)))
        assert isinstance(await stranger.hears(), c.Who)
        assert m.metric("a", "not_open") == 1

    asyncio.run(with_stranger(scenario))


def test_another_wire_version_is_refused_with_both_versions() -> None:
    async def scenario(m: Mesh, stranger: Stranger) -> None:
        stranger.socket.send(c.encode(c.Hello((7, 9), c.CLIENT, "", b"n" * 16, client="x", stream=STREAM)))
        answer = await stranger.hears()
        assert isinstance(answer, c.Refuse) and answer.code == "VERSION" and answer.final
        assert "7 to 9" in answer.reason and "1 to 2" in answer.reason

    asyncio.run(with_stranger(scenario))


IMPOSSIBLE: list[tuple[dict[str, object], str]] = [
    ({"client": "../../etc"}, "BAD_NAME"),
    ({"client": ""}, "BAD_NAME"),
    ({"stream": b"short"}, "FORGED_STREAM"),
    ({"cluster": "another"}, "CLUSTER"),
    ({"role": "king"}, "ROLE"),
    ({"token": b"t" * 32}, "BAD_TOKEN"),
]


def test_a_hello_that_cannot_be_is_refused_by_name() -> None:
    async def scenario(m: Mesh, stranger: Stranger) -> None:
        for count, (changes, code) in enumerate(IMPOSSIBLE, 1):
            stranger.socket.send(c.encode(replace(HELLO, **changes)))
            answer = await stranger.hears()
            assert isinstance(answer, c.Refuse) and answer.code == code, changes
            assert m.metric("a", "hello_refused") == count

    asyncio.run(with_stranger(scenario))


def test_over_tcp_nothing_goes_without_the_cookie() -> None:
    async def scenario(m: Mesh, stranger: Stranger) -> None:
        stranger.socket.send(c.encode(HELLO))
        assert isinstance(await stranger.hears(), c.Challenge)
        stranger.socket.send(c.encode(replace(HELLO, proof=b"p" * 32)))
        answer = await stranger.hears()
        assert isinstance(answer, c.Refuse) and answer.code == "BAD_COOKIE"
        assert m.metric("a", "wrong_cookie") == 1
        assert m.metric("a", "sessions") == 1  # the good client's

    asyncio.run(with_stranger(scenario, tcp=True))


def test_a_client_of_another_user_is_told_why() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            with state_directory() as elsewhere:
                address = m.nodes["a"].described()["tcp"][0]
                with pytest.raises(Refused, match="cookie") as refused:
                    async with mesh.connect(address, environ=environment(elsewhere)):
                        pass
            assert refused.value.code == "BAD_COOKIE" and "MESH_STATE_DIR" in str(refused.value)

    asyncio.run(scenario())


def test_a_listener_that_does_not_know_the_cookie_gets_nothing() -> None:
    async def welcome_anybody(router: zmq.Socket[bytes]) -> None:
        while True:
            while not router.poll(0):
                await asyncio.sleep(0.005)
            routing_id, *frames = router.recv_multipart()
            heard.append(read(frames)[0])
            node = c.Introduction(b"u" * 16, "fake", 1, "")
            router.send_multipart([routing_id, c.encode(c.Welcome(1, node, "x", session="/node/f/client/c"))])

    async def scenario() -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        router = context.socket(zmq.ROUTER)
        router.setsockopt(zmq.LINGER, 0)
        port = router.bind_to_random_port("tcp://127.0.0.1")
        fake = asyncio.create_task(welcome_anybody(router))
        address = f"tcp://127.0.0.1:{port}"
        try:
            with state_directory() as state, pytest.raises(Refused) as refused:
                async with mesh.connect(address, environ=environment(state)):
                    pass
            assert refused.value.code == "BAD_COOKIE"
            async with mesh_of("a", settings={"node.peers": [address]}) as m:
                await eventually(lambda: any(isinstance(said, c.Hello) and said.node for said in heard))
                core = m.nodes["a"].core
                await eventually(
                    lambda: not any(conn.seed and not conn.closed for conn in core._conns.values())
                )
                assert len(core.parts.neighbours.membership.all()) == 1
        finally:
            fake.cancel()
            router.close()
            context.term()

    heard: list[c.Command] = []
    asyncio.run(scenario())


def test_nobody_publishes_in_the_name_of_another() -> None:
    async def scenario(m: Mesh, stranger: Stranger) -> None:
        stranger.socket.send(c.encode(HELLO))
        assert isinstance(await stranger.hears(), c.Welcome)
        forged = Envelope(
            stream=b"o" * 16, domain="", first=1, last=1, keys=("k",), count=1, sizes=1, body=b"x"
        )
        stranger.socket.send_multipart([c.encode(c.Publish((1,))), forged.header(), forged.body])
        answer = await stranger.hears()
        assert isinstance(answer, c.Refuse) and answer.code == "FORGED_SENDER"
        assert m.metric("a", "published") == 0

    asyncio.run(with_stranger(scenario))


def test_oversized_content_from_a_foreign_client_is_refused_by_name() -> None:
    async def scenario(m: Mesh, stranger: Stranger) -> None:
        stranger.socket.send(c.encode(HELLO))
        assert isinstance(await stranger.hears(), c.Welcome)
        big = Envelope(
            stream=STREAM,
            domain="",
            first=1,
            last=1,
            keys=("k",),
            count=1,
            sizes=3 << 20,
            body=bytes(3 << 20),
        )
        halves = [big.body[at : at + (1 << 20)] for at in range(0, 3 << 20, 1 << 20)]
        stranger.socket.send_multipart([c.encode(c.Publish((3,))), big.header(), *halves])
        answer = await stranger.hears()
        assert isinstance(answer, c.Refuse) and answer.code == "TOO_LARGE"
        assert m.metric("a", "published") == 0

    asyncio.run(with_stranger(scenario))


def test_a_foreign_protocol_on_the_port_disturbs_nobody() -> None:
    async def scenario(m: Mesh, stranger: Stranger) -> None:
        host, port = m.nodes["a"].described()["tcp"][0].removeprefix("tcp://").split(":")
        for said in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", os.urandom(500), b""):
            with socket.create_connection((host, int(port))) as other:
                other.sendall(said)

    asyncio.run(with_stranger(scenario))


# --- starting ------------------------------------------------------------------------------------------


async def started(environ: dict[str, str], **given: object) -> None:
    config = load(None, {}, {name.replace("__", "."): value for name, value in given.items()})
    node = await start(config, environ)
    await node.close()


def test_a_data_directory_in_use_and_a_second_node_of_a_name_are_refused() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            with pytest.raises(DataDirRefused, match="in use"):
                await started(m.environ, node__id="a")
            other = Path(m.environ["MESH_STATE_DIR"]) / "other"
            with pytest.raises(NodeInUse, match="--id"):
                await started(m.environ, node__id="a", node__data=str(other))

    asyncio.run(scenario())


@pytest.mark.slow
def test_sigterm_in_the_middle_of_a_flush_loses_nothing_that_was_answered() -> None:
    with running("a") as a:

        async def scenario() -> None:
            async with mesh.connect("a", environ=a.environ) as m, m.subscribe("k") as sub:
                for i in range(3000):
                    m.post("k", b"%d" % i, persistent=True)
                stopping = asyncio.get_running_loop().run_in_executor(None, a.stop)
                reader = asyncio.create_task(take(sub, 3000))
                assert await stopping == 0
                await asyncio.get_running_loop().run_in_executor(None, a.start)
                await m.flush()
                assert [int(message.content) for message in await reader] == list(range(3000))

        asyncio.run(scenario())
