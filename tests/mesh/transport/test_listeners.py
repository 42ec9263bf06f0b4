"""Reports about the end of inbound connections, even when a descriptor is used again."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from mesh.transport.options import readable
from tests.mesh.transport.ends import LIMIT, End, eventually
from tests.waiting import until
from tools.benchmarks.loads.unfinished_sender import shake_hands

pytestmark = pytest.mark.usefixtures("without_haste")


def test_who_dialled_a_file_and_is_gone_is_told_of_at_once_behind_his_last_words(directory: Path) -> None:
    async def scenario() -> None:
        listener, stays, goes = End(), End(), End()
        address = listener.sockets.bind(f"ipc://{directory}/s", trusted=True)
        for end in (stays, goes):
            end.sockets.dial(1, address)
            end.sockets.send(1, [b"hello"])
        await eventually(lambda: len(listener.came) == 2)
        for number in range(100):
            goes.sockets.send(1, [b"%d" % number])
        goes.sockets.close()
        await eventually(lambda: listener.gone)
        assert [frames for key, frames in listener.received if key == listener.gone[0]][-1] == [b"99"]
        assert len(listener.gone) == 1
        stays.sockets.close()
        await eventually(lambda: len(listener.gone) == 2)
        listener.sockets.close()

    asyncio.run(scenario())


def lines(address: str, number: int) -> list[socket.socket]:
    """Return `number` new sockets, which keep freed descriptors from being used. The first is connected."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    made = [socket.socket() for _ in range(number)]
    for each in made:
        each.settimeout(LIMIT)
    made[0].connect((host, int(port)))
    shake_hands(made[0])
    return made


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


@pytest.mark.parametrize("first", ["heard first", "told first"])
def test_an_end_that_is_told_late_is_not_that_of_the_next_connection_with_the_descriptor(first: str) -> None:
    async def scenario() -> None:
        listener = End()
        address = listener.sockets.bind("tcp://127.0.0.1:0", trusted=False)
        one, other = lines(address, 2)
        with one, other:
            one.sendall(b"\0\1a")
            await eventually(lambda: listener.came)
            ended = listener.came[0]
            _, number = listener.sockets._listeners._arrivals.places[ended]
            # From here on the loop is blocked, as in a node that was stopped.
            one.shutdown(socket.SHUT_RDWR)
            until(lambda: not is_open(number))
            other.connect(("127.0.0.1", int(address.rpartition(":")[2])))
            shake_hands(other)
            other.sendall(b"\0\1b")
            router = listener.sockets._listeners._routers[0].socket
            until(lambda: readable(router))
            if first == "heard first":
                listener.sockets._listeners._router_readable(0)
            else:
                listener.sockets._listeners._routers[0].doorman.catch_up()
            await eventually(lambda: listener.gone == [ended])
            await eventually(lambda: listener.has(2))
            lives = listener.came[1]
            assert listener.sockets._listeners._arrivals.places[lives] == (0, number), (
                "it has the same descriptor"
            )
            other.sendall(b"\0\1c")
            await eventually(lambda: listener.has(3))
            assert listener.received[-2:] == [(lives, [b"b"]), (lives, [b"c"])]
            assert listener.gone == [ended] and len(listener.came) == 2
        listener.sockets.close()

    asyncio.run(scenario())


def test_one_that_said_a_word_and_was_gone_before_it_was_heard_is_told_as_gone() -> None:
    async def scenario() -> None:
        listener = End()
        [line] = lines(listener.sockets.bind("tcp://127.0.0.1:0", trusted=False), 1)
        doorman = listener.sockets._listeners._routers[0].doorman
        doorman.catch_up()
        [number] = listener.sockets._watch._lines
        line.sendall(b"\0\1a")
        line.shutdown(socket.SHUT_RDWR)
        until(lambda: not is_open(number))
        doorman.catch_up()
        await eventually(lambda: listener.gone)
        assert listener.gone == listener.came and [frames for _, frames in listener.received] == [[b"a"]]
        line.close()
        listener.sockets.close()

    asyncio.run(scenario())
