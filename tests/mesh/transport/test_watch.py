"""The watch of real connections: it ends those above a limit, and no others."""

import asyncio
import errno
import os
import re
import socket
import struct
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from mesh.transport import guard
from mesh.transport.guard import Allowance
from mesh.transport.watch import SOON, TrafficWatch
from mesh.wire.limits import KIB, MIB
from tests.mesh.transport.ends import LIMIT, End, eventually, node_keys
from tests.mesh.transport.test_gossip import heard
from tests.waiting import until
from tools.benchmarks.loads.unfinished_sender import LONG_AND_MORE, shake_hands

pytestmark = pytest.mark.usefixtures("without_haste")

ANY = "tcp://127.0.0.1:0"
linux = pytest.mark.skipif("sys.platform != 'linux'", reason="only Linux tells the bytes")


def line_to(address: str) -> socket.socket:
    """Return a connection after ZeroMQ's handshake, which sends nothing. It does not need the loop."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    line = socket.create_connection((host, int(port)), LIMIT)
    shake_hands(line)
    line.setblocking(False)
    return line


async def poured(line: socket.socket, most: int) -> int:
    """Send an endless message, and return the number of bytes sent before the connection ended."""
    frame = LONG_AND_MORE + struct.pack(">Q", 64 * KIB) + bytes(64 * KIB)
    sent, loop = 0, asyncio.get_running_loop()
    try:
        while sent < most:
            await loop.sock_sendall(line, frame)
            sent += len(frame)
        async with asyncio.timeout(LIMIT):
            while await loop.sock_recv(line, 1000):
                pass
    except OSError:
        pass
    return sent


def ended(end: End, why: str) -> bool:
    return any(why in text for text in end.strangers)


@linux
def test_trial_A3_a_stranger_is_cut_and_told_of_and_others_are_not() -> None:
    async def scenario() -> None:
        listener, friend = End(), End()
        address = listener.sockets.bind(ANY, trusted=False)
        friend.sockets.dial(1, address)
        friend.sockets.send(1, [b"hello"])
        await eventually(lambda: listener.has(1))
        with line_to(address) as line:
            assert await poured(line, 2_000 * MIB) < 2_000 * MIB
        await eventually(lambda: ended(listener, "16 KiB without a whole message, before HELLO"))
        friend.sockets.send(1, [b"still here"])
        await eventually(lambda: listener.has(2))
        for end in (listener, friend):
            end.sockets.close()

    asyncio.run(scenario())


@linux
def test_trial_A3_a_client_that_first_waits_is_cut_as_soon() -> None:
    async def scenario() -> None:
        listener = End()
        address = listener.sockets.bind(ANY, trusted=False)
        with line_to(address) as line:
            await asyncio.get_running_loop().sock_sendall(line, b"\0\5hello")
            await eventually(lambda: listener.has(1))
            listener.sockets.proven(listener.came[0], "", is_node=False)
            looks = listener.sockets._watch
            await eventually(lambda: looks._is_listening and not looks._growing)
            await poured(line, 2_000 * MIB)
        await eventually(lambda: ended(listener, "2 MiB without a whole message, a client"))
        await eventually(lambda: listener.gone == listener.came)  # the end of each connection is reported
        listener.sockets.close()

    asyncio.run(scenario())


@linux
def test_trial_A3_whole_messages_that_wait_while_the_loop_is_held_up_are_heard() -> None:
    """The messages together exceed the limit of a client, but none of them does."""

    async def scenario() -> None:
        listener, client = End(), End()
        address = listener.sockets.bind(ANY, trusted=False)
        client.sockets.dial(1, address)
        client.sockets.send(1, [b"hello"])
        await eventually(lambda: listener.has(1))
        listener.sockets.proven(listener.came[0], "", is_node=False)
        piece = bytes(500 * KIB)
        for _ in range(20):
            client.sockets.send(1, [b"long", piece, piece, piece])
        watch = listener.sockets._watch
        [number] = watch._lines
        until(lambda: (watch._received(number) or 0) > 6 * MIB)  # the loop is blocked meanwhile
        await eventually(lambda: listener.has(21))
        assert listener.strangers == []
        for end in (listener, client):
            end.sockets.close()

    asyncio.run(scenario())


@linux
def test_trial_A3_a_pub_is_told_no_endless_scenario() -> None:
    async def scenario() -> None:
        a, friend = End(node_keys(1)), End(node_keys(3))
        place = a.sockets.bind_pub(ANY)
        friend.sockets.listen(place)
        keys = node_keys(2)
        context = zmq.Context()
        line = context.socket(zmq.XSUB)
        line.setsockopt(zmq.RECONNECT_IVL, -1)
        line.setsockopt_string(zmq.CURVE_SERVERKEY, keys.gossip.public)
        line.setsockopt_string(zmq.CURVE_PUBLICKEY, keys.mine.public)
        line.setsockopt_string(zmq.CURVE_SECRETKEY, keys.mine.secret)
        line.connect(place)
        guests = a.sockets._watch._lines
        await eventually(lambda: len(guests) == 2)
        await eventually(lambda: line.poll(0, zmq.POLLOUT))
        line.send_multipart([b"\2"] + [b"\2" * 3072] * 20_000, copy=False)
        await eventually(lambda: ended(a, "than a node ever sends without a whole message, on the PUB"))
        await eventually(lambda: len(guests) == 1)
        context.destroy(linger=0)
        await heard(a, friend, b"still here")
        for end in (a, friend):
            end.sockets.close()

    asyncio.run(scenario())


def test_what_has_begun_to_come_is_looked_at_when_it_may_be_whole_and_not_in_its_way() -> None:
    planned: list[float] = []
    loop: Any = SimpleNamespace(time=lambda: 5.0, call_at=lambda due, _: planned.append(due))
    watch = TrafficWatch(loop, Allowance(), lambda: None, lambda line: None)
    watch._wake()
    assert planned == [5.0 + SOON]
    watch._timer, watch._earliest = None, 7.0  # the last review took long
    watch._wake()
    assert planned[1:] == [7.0]


def test_trial_A3_who_says_nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "HELLO_WITHIN", 0.2)

    async def scenario() -> None:
        listener = End()
        with line_to(listener.sockets.bind(ANY, trusted=False)) as line:
            assert await poured(line, 0) == 0
        await eventually(lambda: ended(listener, "no HELLO within"))
        await eventually(lambda: not listener.sockets._watch._lines)
        listener.sockets.close()

    asyncio.run(scenario())


def test_trial_A3_whom_we_hung_up_on_hears_our_last_words_and_is_ended() -> None:
    async def scenario() -> None:
        listener, dialler = End(), End()
        dialler.sockets.dial(1, listener.sockets.bind(ANY, trusted=False))
        dialler.sockets.send(1, [b"hello"])
        await eventually(lambda: listener.has(1))
        listener.sockets.send(listener.came[0], [b"no"])
        listener.sockets.hang_up(listener.came[0])
        await eventually(lambda: dialler.gone == [1])
        assert dialler.received == [(1, [b"no"])]
        assert listener.strangers == []
        for end in (listener, dialler):
            end.sockets.close()

    asyncio.run(scenario())


def test_trial_A3_nothing_is_kept_of_connections_that_are_gone_and_their_last_words_are_heard() -> None:
    async def scenario() -> None:
        listener, dialler = End(), End()
        address = listener.sockets.bind(ANY, trusted=False)
        for number in range(50):
            dialler.sockets.dial(number, address)
            dialler.sockets.send(number, [b"hello"])
        await eventually(lambda: listener.has(50))
        for number in range(50):
            dialler.sockets.send(number, [b"bye"])
            dialler.sockets.hang_up(number)
        await eventually(lambda: len(listener.gone) == 50)
        assert sorted(listener.gone) == sorted(listener.came)
        assert listener.has(100)
        s = listener.sockets
        assert s._watch._lines == {} and [*vars(s._listeners._arrivals).values()] == [{}, set(), {}]
        for end in (listener, dialler):
            end.sockets.close()

    asyncio.run(scenario())


def test_trial_A7_a_crowd_of_strangers_leaves_room_for_newcomers_and_is_one_line() -> None:
    async def scenario() -> None:
        friend, listener = End(), End(allowance=Allowance(strangers=8))
        address = listener.sockets.bind(ANY, trusted=False)
        lines = []
        for _ in range(100):
            lines.append(line_to(address))
            await eventually(lambda: len(listener.sockets._watch._lines) <= 8)
        friend.sockets.dial(1, address)
        friend.sockets.send(1, [b"hello"])
        await eventually(lambda: listener.has(1))
        assert len(set(listener.strangers)) == 1
        assert re.fullmatch(
            r"a connection from 127\.0\.0\.1 was closed: more than 8 connections without a HELLO",
            listener.strangers[0],
        )
        for line in lines:
            line.close()
        for end in (listener, friend):
            end.sockets.close()

    asyncio.run(scenario())


def lone_watch(told: Callable[[str], None] = lambda text: None, **most: int) -> TrafficWatch:
    return TrafficWatch(asyncio.get_running_loop(), Allowance(**most), lambda: None, told)


def test_trial_A3_only_a_connection_of_that_endpoint_is_ended_and_none_is_closed_here() -> None:
    async def scenario() -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_server(("127.0.0.1", 0)) as other,
        ):
            mine, theirs = (f"tcp://127.0.0.1:{s.getsockname()[1]}" for s in (server, other))
            with socket.create_connection(server.getsockname()) as ours, server.accept()[0] as guest:
                eyes = lone_watch(connections=1)
                eyes.add_connection(guest.fileno(), theirs)
                assert eyes._lines == {}, "it is somebody else's number by now"
                eyes.add_connection(guest.fileno(), mine)
                assert eyes.forget_connection(guest.fileno(), theirs) == "", (
                    "its end at another endpoint was long ago"
                )
                assert eyes._lines
                assert eyes.forget_connection(guest.fileno(), mine) == "127.0.0.1" and not eyes._lines
                eyes.add_connection(guest.fileno(), mine)
                eyes.add_connection(guest.fileno() + 1000, mine)
                eyes.close()
                del eyes
                ours.sendall(b"x")
                assert guest.recv(1) == b"x", "nobody here closes what is ZeroMQ's"

    asyncio.run(scenario())


def test_a_crowd_that_takes_the_last_descriptors_is_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none_left() -> None:
        raise OSError(errno.EMFILE, "too many open files")

    async def scenario() -> None:
        listener = End(allowance=Allowance(connections=1))
        address = listener.sockets.bind(ANY, trusted=False)
        monkeypatch.setattr("select.epoll", none_left)
        lines = [line_to(address) for _ in range(5)]
        await eventually(lambda: ended(listener, "more than 1 connections"))
        listener.sockets.close()
        for line in lines:
            line.close()

    asyncio.run(scenario())


def test_trial_A3_a_number_that_has_passed_to_another_connection_is_not_ended() -> None:
    async def scenario() -> None:
        told: list[str] = []
        with socket.create_server(("127.0.0.1", 0)) as server:
            mine = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            with socket.create_connection(server.getsockname()) as a, server.accept()[0] as first:
                with socket.create_connection(server.getsockname()) as b, server.accept()[0] as second:
                    eyes = lone_watch(told.append)
                    eyes.add_connection(first.fileno(), mine)
                    # ZeroMQ has closed the first connection. Its number is used again, unknown to the watch.
                    os.dup2(second.fileno(), first.fileno())
                    eyes._guard._guests[first.fileno()].held = 10 * MIB
                    endings, _ = eyes._guard.check_connections({first.fileno(): None}, (), 0.0)
                    assert len(endings) == 1
                    eyes._close_connections(endings)
                    b.sendall(b"x")
                    assert second.recv(1) == b"x"
                    eyes.close()
                del a

    asyncio.run(scenario())


@linux
@pytest.mark.parametrize("waits", [True, False])
def test_trial_A3_what_waits_is_heard_before_anybody_is_ended(waits: bool) -> None:
    async def scenario() -> None:
        told: list[str] = []
        with socket.create_server(("127.0.0.1", 0)) as server:
            mine = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            with socket.create_connection(server.getsockname()) as ours, server.accept()[0] as guest:
                number = guest.fileno()

                def take() -> None:
                    if waits:
                        eyes.note_read(number, [bytes(20 * KIB)], is_keyed=False)

                eyes = TrafficWatch(asyncio.get_running_loop(), Allowance(), take, told.append)
                eyes.add_connection(number, mine)
                ours.sendall(bytes(20 * KIB))
                left = 20 * KIB
                while left:
                    left -= len(guest.recv(left))
                eyes._review()
                assert len(told) == (not waits)
                assert eyes.heard == set(), "a mark holds for one look"
                eyes.close()

    asyncio.run(scenario())


@linux
def test_trial_A3_bytes_in_the_kernels_buffer_are_not_held_by_us() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            mine = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            with socket.create_connection(server.getsockname()) as ours, server.accept()[0] as guest:
                eyes = lone_watch()
                eyes.add_connection(guest.fileno(), mine)
                ours.sendall(bytes(50_000))
                assert eyes._received(guest.fileno()) == 0
                left = 50_000
                while left:
                    left -= len(guest.recv(left))
                assert eyes._received(guest.fileno()) == 50_000
                eyes.close()

    asyncio.run(scenario())


def test_trial_A3_where_the_system_tells_no_bytes_silence_ends_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard, "HELLO_WITHIN", 0.2)
    monkeypatch.setattr(sys, "platform", "darwin")

    async def scenario() -> None:
        listener = End()
        with line_to(listener.sockets.bind(ANY, trusted=False)) as line:
            assert await poured(line, 0) == 0
        await eventually(lambda: ended(listener, "no HELLO within"))
        assert listener.sockets._watch._arrivals is None
        listener.sockets.close()

    asyncio.run(scenario())
