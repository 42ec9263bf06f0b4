"""Handshakes at an address with keys: peers with the keys are admitted, and all others are refused."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from mesh.errors import BindRefused
from mesh.security import zap
from mesh.security.keys import Keys
from mesh.transport import handshakes
from mesh.transport.handshakes import GAVE_UP, Doorman
from tests.mesh.transport.ends import LIMIT, End, client_keys, eventually, node_keys

pytestmark = pytest.mark.usefixtures("without_haste")

ANY = "tcp://127.0.0.1:0"
NOT_IN = "a connection was refused"


@contextlib.asynccontextmanager
async def ends(*keys: Keys | None) -> AsyncIterator[list[End]]:
    made = [End(each) for each in keys]
    try:
        yield made
    finally:
        for end in made:
            end.sockets.close()


async def refused(dialler: End, address: str) -> None:
    """Dial and send, and wait until the connection ends."""
    dialler.sockets.dial(1, address)
    dialler.sockets.send(1, [b"let me in"])
    await eventually(lambda: dialler.gone == [1])


async def admitted(listener: End, dialler: End, address: str) -> None:
    before = len(listener.received)
    dialler.sockets.dial("new", address)
    dialler.sockets.send("new", [b"hello"])
    await eventually(lambda: len(listener.received) > before)
    dialler.sockets.hang_up("new")


def test_who_has_the_keys_comes_in_and_is_named() -> None:
    async def scenario() -> None:
        async with ends(node_keys(1), node_keys(2), client_keys(3)) as (listener, node, client):
            address = listener.sockets.bind(ANY, trusted=False)
            for count, dialler in enumerate((node, client), start=1):
                dialler.sockets.dial(1, address)
                dialler.sockets.send(1, [b"hello", b"you"])
                await eventually(partial(listener.has, count))
            assert listener.users == [node_keys(2).mine.public, client_keys(3).mine.public]
            assert [frames for _, frames in listener.received] == [[b"hello", b"you"]] * 2
            client.sockets.send(1, [b"more", b"words"])
            await eventually(lambda: len(listener.received) == 3)
            assert listener.received[2] == (listener.came[1], [b"more", b"words"])
            listener.sockets.send(listener.came[1], [b"answer"])
            await eventually(lambda: client.received == [(1, [b"answer"])])
            assert listener.strangers == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("keys", "told", "said"),
    [
        (None, "the other side has no keys", "was dialed without keys"),
        (node_keys(2, secret=b"x" * 32), "the other side has other keys", "or it was shutting down"),
        (node_keys(2, cluster="other"), "the other side has other keys", "other keys or none"),
    ],
    ids=["no key", "wrong key", "right secret, wrong cluster"],
)
def test_a_stranger_is_not_heard_and_is_told_of(keys: Keys | None, told: str, said: str) -> None:
    async def scenario() -> None:
        async with ends(node_keys(1), keys, node_keys(3)) as (listener, stranger, friend):
            address = listener.sockets.bind(ANY, trusted=False)
            # The first end to detect the mismatch closes the connection, so the other may know no reason.
            while not (any(told in text for text in listener.strangers) and stranger.strangers):
                await refused(stranger, address)
                stranger.gone.clear()
            for text in listener.strangers:
                words = text.replace(" from 127.0.0.1", "")  # the address is known while it is connected
                assert words in (f"{NOT_IN}: {told}", f"{NOT_IN}: {GAVE_UP}")
            assert address in stranger.strangers[0]
            assert said in stranger.strangers[0]
            await admitted(listener, friend, address)
            assert len(listener.came) == 1

    asyncio.run(scenario())


def test_a_right_key_that_is_not_admitted_now_learns_that_this_may_be_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    why = f"{zap.PENDING} others have not proven themselves yet"
    monkeypatch.setattr(
        zap.ZapGate, "verdict", lambda self, request, now: zap.ZapVerdict(b"300", why, address="127.0.0.1")
    )

    async def scenario() -> None:
        async with ends(node_keys(1), node_keys(3)) as (listener, newcomer):
            address = listener.sockets.bind(ANY, trusted=False)
            while not newcomer.strangers:
                await refused(newcomer, address)
                newcomer.gone.clear()
            assert f"a connection from 127.0.0.1 was refused: {why}" in listener.strangers
            assert "it accepts no new connections now" in newcomer.strangers[0]

    asyncio.run(scenario())


def test_who_has_keys_speaks_to_nobody_without() -> None:
    async def scenario() -> None:
        async with ends(None, node_keys(2)) as (listener, dialler):
            address = listener.sockets.bind(ANY, trusted=False)
            await refused(dialler, address)
            assert "runs without keys" in dialler.strangers[0] or "or none" in dialler.strangers[0]
            assert listener.received == []

    asyncio.run(scenario())


def test_without_its_handler_nobody_comes_in_at_all() -> None:
    async def scenario() -> None:
        async with ends(node_keys(1), node_keys(2), node_keys(3)) as (listener, early, late):
            address = listener.sockets.bind(ANY, trusted=False)
            early.sockets.dial(1, address)
            early.sockets.send(1, [b"hello"])
            await eventually(lambda: listener.received)
            assert listener.sockets._zap is not None
            listener.sockets._zap.close()
            await refused(late, address)
            assert len(listener.received) == 1
            early.sockets.send(1, [b"still here"])  # an admitted peer stays connected
            await eventually(lambda: len(listener.received) == 2)

    asyncio.run(scenario())


def test_nothing_is_bound_with_keys_when_the_handler_is_not_there(directory: Path) -> None:
    async def scenario() -> None:
        async with ends(node_keys(1), client_keys(2)) as (dead, client):
            assert dead.sockets._zap is not None
            dead.sockets._zap.close()
            for end in (dead, client):
                with pytest.raises(BindRefused):
                    end.sockets.bind(ANY, trusted=False)
                with pytest.raises(BindRefused):
                    end.sockets.bind_pub(ANY)
                end.sockets.bind(f"ipc://{directory}/{len(end.came)}{id(end)}", trusted=True)  # without keys

    asyncio.run(scenario())


def test_an_error_in_the_handler_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        raise RuntimeError("no more")

    async def scenario() -> None:
        async with ends(node_keys(1), node_keys(2)) as (listener, dialler):
            address = listener.sockets.bind(ANY, trusted=False)
            monkeypatch.setattr(zap.ZapGate, "_decide", broken)
            await refused(dialler, address)
            assert listener.received == []
            assert listener.strangers == ["a connection was refused: RuntimeError: no more"]
            monkeypatch.undo()
            await admitted(listener, dialler, address)

    asyncio.run(scenario())


def test_a_local_socket_stays_without_keys_beside_one_with(directory: Path) -> None:
    async def scenario() -> None:
        async with ends(node_keys(1), client_keys(2), None) as (listener, keyed, plain):
            listener.sockets.bind(ANY, trusted=False)
            local = listener.sockets.bind(f"ipc://{directory}/s", trusted=True)
            for end in (keyed, plain):
                await admitted(listener, end, local)
            assert listener.users == ["", ""]

    asyncio.run(scenario())


# Greetings of ZeroMQ from before it knew keys: a listener that is not strict would accept each of them.
OLD_GREETINGS = {
    "1.0": b"\x01\x00\x06\x00hello",
    "2.0": b"\xff\0\0\0\0\0\0\0\x01\x7f\x01\x05\x00\x00\x00\x05hello",
    "3.0, null": b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\x00NULL"
    + b"\0" * 48
    + b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x00\x05hello",
    "none": b"GET / HTTP/1.1\r\nHost: heron\r\n\r\n",
}


@pytest.mark.parametrize("version", OLD_GREETINGS)
def test_an_older_protocol_is_no_way_in(version: str) -> None:
    async def scenario() -> None:
        async with ends(node_keys(1), node_keys(2)) as (listener, friend):
            address = listener.sockets.bind(ANY, trusted=False)
            reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
            writer.write(OLD_GREETINGS[version])
            async with asyncio.timeout(LIMIT):
                with contextlib.suppress(ConnectionResetError):
                    while await reader.read(1000):
                        pass  # until the handshake timeout
            writer.transport.abort()
            await admitted(listener, friend, address)
            assert [frames for _, frames in listener.received] == [[b"hello"]]
            assert listener.users == [friend_key()]

    asyncio.run(scenario())


def friend_key() -> str:
    return node_keys(2).mine.public


def test_a_storm_of_strangers_fills_no_log() -> None:
    async def scenario() -> None:
        async with ends(node_keys(1), None) as (listener, stranger):
            address = listener.sockets.bind(ANY, trusted=False)
            for key in range(50):
                stranger.sockets.dial(key, address)
            await eventually(lambda: len(stranger.gone) == 50)
            await eventually(lambda: listener.strangers)
            assert 1 <= len(set(listener.strangers)) <= 4  # equal lines are reported once

    asyncio.run(scenario())


def test_who_resets_the_connection_only_asked_whether_somebody_listens() -> None:
    async def scenario() -> None:
        async with ends(node_keys(1), node_keys(2)) as (listener, friend):
            address = listener.sockets.bind(ANY, trusted=False)
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await admitted(listener, friend, address)  # it is admitted after the probes
            assert listener.strangers == []

    asyncio.run(scenario())


def test_of_two_lines_about_one_attempt_the_one_with_an_address_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handshakes, "MOMENT", 0.05)
    with_address, without = f"{NOT_IN[:12]} from 10.0.0.5 was refused: why", f"{NOT_IN}: why"

    async def scenario() -> None:
        async with ends(node_keys(1)) as (listener,):
            listener.sockets.bind(ANY, trusted=False)
            doorman = listener.sockets._listeners._routers[0].doorman
            assert isinstance(doorman, Doorman)
            for first, second in (("10.0.0.5", ""), ("", "10.0.0.5")):
                doorman._report_stranger(first, "why")
                doorman._report_stranger(second, "why")
                await eventually(lambda: not doorman._unaddressed)
            assert listener.strangers == [with_address] * 2
            doorman._addressed -= 1
            doorman._report_stranger("", "why")
            doorman._report_stranger("", "why")
            await eventually(lambda: len(listener.strangers) == 3)
            assert listener.strangers[2] == without

    asyncio.run(scenario())
