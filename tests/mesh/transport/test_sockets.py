"""Do connections tell when they end, and give all that came before?"""

import asyncio
import errno
import os
import socket
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
import zmq

from mesh.local.descriptors import CODE, of_system
from mesh.transport.options import readable
from mesh.transport.sockets import refusal
from tests.mesh.transport.ends import LIMIT, End, eventually
from tests.seeds import stories
from tests.waiting import until
from tools.benchmarks.loads.unfinished_sender import shake_hands

pytestmark = pytest.mark.usefixtures("without_haste")


def unused_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


def test_a_dial_that_nobody_takes_is_told_of_at_once() -> None:
    async def story() -> None:
        end = End()
        end.sockets.dial(1, unused_address())
        end.sockets.send(1, [b"hello"])
        await eventually(lambda: end.gone == [1])
        end.sockets.close()

    asyncio.run(story())


def test_a_dial_of_which_no_answer_comes_is_told_of_while_tcp_still_waits() -> None:
    async def story() -> None:
        # As from behind a cable that was pulled out: Linux answers no further SYN when its queue is full.
        with socket.socket() as full, socket.socket() as first, socket.socket() as second:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            for one in (first, second):
                one.setblocking(False)
                one.connect_ex(full.getsockname())
            end = End()
            end.sockets.dial(1, f"tcp://127.0.0.1:{full.getsockname()[1]}")
            await eventually(lambda: end.gone == [1])
            end.sockets.close()

    asyncio.run(story())


def test_the_last_words_are_heard_before_the_end(directory: Path) -> None:
    async def story() -> None:
        listener, dialler = End(), End()
        address = listener.sockets.bind(f"ipc://{directory}/s", trusted=True)
        dialler.sockets.dial(1, address)
        dialler.sockets.send(1, [b"hello"])
        await eventually(lambda: listener.received)
        words = [(1, [b"%d" % number]) for number in range(100)]
        for _, frames in words:
            listener.sockets.send(listener.came[0], frames)
        # All of it has left when this returns, so the other end finds words and end at the same time.
        listener.sockets.close()
        await eventually(lambda: dialler.gone == [1])
        assert dialler.received == words
        dialler.sockets.close()

    asyncio.run(story())


def test_messages_that_take_long_let_others_have_their_turn_in_between(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = count()
    monkeypatch.setattr("mesh.transport.options.monotonic", lambda: float(next(seconds)))

    async def story() -> None:
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

    asyncio.run(story())


async def in_turns(end: End, messages: int) -> list[int]:
    """How many it has had, as often as that changes from one turn of the loop to the next."""
    heard = [len(end.received)] if end.received else []
    async with asyncio.timeout(LIMIT):
        while len(end.received) < messages:
            await asyncio.sleep(0)
            if len(end.received) > (heard[-1] if heard else 0):
                heard.append(len(end.received))
    return heard


@pytest.mark.parametrize("hosts", stories([10, 100]))
def test_hanging_up_on_peers_that_just_go_stops_nobody(hosts: int) -> None:
    # In a process of its own: ZeroMQ's thread, once it waits for ever, could not be ended here.
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
    """Exit with 1 if frames do not travel any more after connections ended at both ends at once."""

    async def story() -> None:
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
        asyncio.run(story())
    except AssertionError:
        os._exit(1)


async def visit(dialler: End, keys: range) -> None:
    """Connections to an end that goes while they are hung up."""
    host = End()
    address = host.sockets.bind("tcp://127.0.0.1:0", trusted=False)
    for key in keys:
        dialler.sockets.dial(key, address)
        dialler.sockets.send(key, [b"hello"])
    await eventually(lambda: len(host.received) == len(keys))
    for key in keys:
        dialler.sockets.hang_up(key)
    host.sockets.close()


def test_who_dialled_a_file_and_is_gone_is_told_of_at_once_behind_his_last_words(directory: Path) -> None:
    async def story() -> None:
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

    asyncio.run(story())


def lines(address: str, number: int) -> list[socket.socket]:
    """So many sockets that have descriptors, so that none takes one given back; one is connected."""
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
    async def story() -> None:
        listener = End()
        address = listener.sockets.bind("tcp://127.0.0.1:0", trusted=False)
        one, other = lines(address, 2)
        with one, other:
            one.sendall(b"\0\1a")
            await eventually(lambda: listener.came)
            ended = listener.came[0]
            _, number = listener.sockets._arrivals.places[ended]
            # From here on the loop stands still, as in a node that was stopped.
            one.shutdown(socket.SHUT_RDWR)
            until(lambda: not is_open(number))
            other.connect(("127.0.0.1", int(address.rpartition(":")[2])))
            shake_hands(other)
            other.sendall(b"\0\1b")
            router = listener.sockets._routers[0].socket
            until(lambda: readable(router))
            if first == "heard first":
                listener.sockets._router_readable(0)
            else:
                listener.sockets._routers[0].doorman.catch_up()
            await eventually(lambda: listener.gone == [ended])
            await eventually(lambda: listener.has(2))
            lives = listener.came[1]
            assert listener.sockets._arrivals.places[lives] == (0, number), "it has the same descriptor"
            other.sendall(b"\0\1c")
            await eventually(lambda: listener.has(3))
            assert listener.received[-2:] == [(lives, [b"b"]), (lives, [b"c"])]
            assert listener.gone == [ended] and len(listener.came) == 2
        listener.sockets.close()

    asyncio.run(story())


def test_one_that_said_a_word_and_was_gone_before_it_was_heard_is_told_as_gone() -> None:
    async def story() -> None:
        listener = End()
        [line] = lines(listener.sockets.bind("tcp://127.0.0.1:0", trusted=False), 1)
        doorman = listener.sockets._routers[0].doorman
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

    asyncio.run(story())


@pytest.mark.parametrize("fails", ["check_descriptors", "new_socket"])
def test_a_dial_for_which_there_is_no_descriptor_is_told_of_with_its_reason(
    fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZeroMQ would end the process where it finds none for its threads."""

    def none_left(*_: object) -> None:
        error = OSError(errno.EMFILE, "Too many open files")
        raise of_system(error, "") if fails == "check_descriptors" else error

    async def story() -> None:
        end, told = End(), list[tuple[object, str]]()
        end.sockets._failed = lambda key, error: told.append((key, error.code))
        monkeypatch.setattr(f"mesh.transport.sockets.{fails}", none_left)
        end.sockets.dial(1, "tcp://127.0.0.1:1")
        assert not told, "not from within what the core has done"
        await eventually(lambda: end.gone == [1])
        assert told == ([(1, CODE)] if fails == "check_descriptors" else [])
        end.sockets.close()

    asyncio.run(story())


def test_with_keys_a_port_that_is_taken_may_be_the_second_one_of_another_node() -> None:
    taken, wrong = zmq.ZMQError(errno.EADDRINUSE), zmq.ZMQError(errno.EINVAL)
    assert "or use it for gossip" in refusal("tcp://*:7711", taken, True).hint
    assert "127.0.0.1" not in refusal("tcp://*:7711", taken, True).hint, "nobody else could reach it there"
    assert "or use it for gossip" not in refusal("tcp://127.0.0.1:7711", taken, False).hint
    assert "PORT" in refusal("tcp://*:x", wrong, True).hint
