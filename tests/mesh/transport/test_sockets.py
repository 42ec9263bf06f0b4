"""The end of connections: it is reported after all messages that came before it."""

import asyncio
import errno
import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
import zmq

from mesh.transport.listeners import refusal
from tests.mesh.transport.ends import LIMIT, End, eventually
from tests.seeds import scenarios

pytestmark = pytest.mark.usefixtures("without_haste")


def test_the_last_words_are_heard_before_the_end(directory: Path) -> None:
    async def scenario() -> None:
        listener, dialler = End(), End()
        address = listener.sockets.bind(f"ipc://{directory}/s", trusted=True)
        dialler.sockets.dial(1, address)
        dialler.sockets.send(1, [b"hello"])
        await eventually(lambda: listener.received)
        words = [(1, [b"%d" % number]) for number in range(100)]
        for _, frames in words:
            listener.sockets.send(listener.came[0], frames)
        # The close returns when all frames are sent, so messages and end arrive at the same time.
        listener.sockets.close()
        await eventually(lambda: dialler.gone == [1])
        assert dialler.received == words
        dialler.sockets.close()

    asyncio.run(scenario())


def test_messages_that_take_long_let_others_have_their_turn_in_between(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = count()
    monkeypatch.setattr("mesh.transport.options.monotonic", lambda: float(next(seconds)))

    async def scenario() -> None:
        listener, dialler = End(), End()
        dialler.sockets.dial(1, listener.sockets.bind(f"ipc://{directory}/s", trusted=True))
        words = [[b"%d" % number] for number in range(5)]
        for word in words:
            dialler.sockets.send(1, word)
        heard = await in_turns(listener, len(words))
        for word in words:
            listener.sockets.send(listener.came[0], word)
        heard += await in_turns(dialler, len(words))
        assert heard == list(range(1, 6)) * 2
        assert [frames for _, frames in dialler.received] == words
        listener.sockets.close()
        dialler.sockets.close()

    asyncio.run(scenario())


async def in_turns(end: End, messages: int) -> list[int]:
    """Return the numbers of received messages after each turn of the loop that changes them."""
    heard = [len(end.received)] if end.received else []
    async with asyncio.timeout(LIMIT):
        while len(end.received) < messages:
            await asyncio.sleep(0)
            if len(end.received) > (heard[-1] if heard else 0):
                heard.append(len(end.received))
    return heard


@pytest.mark.parametrize("hosts", scenarios([10, 100]))
def test_hanging_up_on_peers_that_just_go_stops_nobody(hosts: int) -> None:
    # The test runs in a process of its own, as a thread of ZeroMQ that hangs could not be ended here.
    program = f"from tests.mesh.transport.test_sockets import many_ends; many_ends({hosts})"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        timeout=2 * LIMIT,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr


def many_ends(hosts: int) -> None:
    """Exit with 1 if frames no longer arrive after connections were closed at both ends at once."""

    async def scenario() -> None:
        listener, dialler = End(), End()
        address = listener.sockets.bind("tcp://127.0.0.1:0", trusted=False)
        for number in range(hosts):
            await visit(dialler, range(5 * number, 5 * number + 5))
        dialler.sockets.dial("last", address)
        dialler.sockets.send("last", [b"hello"])
        await eventually(lambda: listener.received)
        dialler.sockets.close()
        listener.sockets.close()

    try:
        asyncio.run(scenario())
    except AssertionError:
        os._exit(1)


async def visit(dialler: End, keys: range) -> None:
    """Connect to an end that closes while these connections are closed here."""
    host = End()
    address = host.sockets.bind("tcp://127.0.0.1:0", trusted=False)
    for key in keys:
        dialler.sockets.dial(key, address)
        dialler.sockets.send(key, [b"hello"])
    await eventually(lambda: len(host.received) == len(keys))
    for key in keys:
        dialler.sockets.hang_up(key)
    host.sockets.close()


def test_with_keys_a_port_that_is_taken_may_be_the_second_one_of_another_node() -> None:
    taken, wrong = zmq.ZMQError(errno.EADDRINUSE), zmq.ZMQError(errno.EINVAL)
    assert "for gossip" in refusal("tcp://*:7711", taken, True).hint
    assert "127.0.0.1" not in refusal("tcp://*:7711", taken, True).hint, "nobody else could reach it there"
    assert "for gossip" not in refusal("tcp://127.0.0.1:7711", taken, False).hint
    assert "PORT" in refusal("tcp://*:x", wrong, True).hint
