"""A context and its sockets: closed by their owner or with it, without waiting for any peer."""

import asyncio
import gc
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
import zmq

from mesh.transport import Sockets
from mesh.transport.lifetime import SPARE, Lifetime, OwnedContext
from mesh.wire.limits import CHUNK
from tests.mesh.transport.ends import LIMIT, End, eventually, node_keys
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("without_haste")


def ends(work: Callable[[], object]) -> None:
    """Do `work` in a thread, so that the test fails if it never ends."""
    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(LIMIT)
    assert not thread.is_alive(), f"it did not end within {LIMIT:g} s"


def test_trial_B0_closing_ends_while_a_peer_stands_still() -> None:
    async def scenario() -> None:
        here = End()
        address = here.sockets.bind("tcp://127.0.0.1:0", trusted=False)
        context = zmq.Context()
        still = context.socket(zmq.DEALER)
        still.setsockopt(zmq.LINGER, 0)
        still.setsockopt(zmq.RCVHWM, 1)
        with socket.create_server(("127.0.0.1", 0)) as silent:  # sends no ZeroMQ handshake
            here.sockets.dial(1, f"tcp://127.0.0.1:{silent.getsockname()[1]}")
            here.sockets.send(1, [b"hello"])
            still.connect(address)
            still.send(b"hello")
            await eventually(lambda: here.came)
            for _ in range(100):
                here.sockets.send(here.came[0], [bytes(CHUNK)])
            here.sockets.close()
        still.close()
        context.term()

    ends(lambda: asyncio.run(scenario()))


def test_trial_B0_all_that_a_node_has_open_may_be_forgotten() -> None:
    """Sockets of all kinds are dropped without a close: the process does not wait, and no thread stays."""

    async def scenario() -> None:
        keys = node_keys(1)
        loop = asyncio.get_running_loop()
        nobody = lambda *_: None  # noqa: E731
        here = Sockets(loop, nobody, nobody, nobody, lambda: None, keys)
        address = here.bind("tcp://127.0.0.1:0", trusted=False)
        here.bind_pub("tcp://127.0.0.1:0")
        here.listen("tcp://127.0.0.1:1")
        here.dial(1, address)
        here.send(1, [b"hello"])

    before = threads()
    for _ in range(3):
        asyncio.run(scenario())
    gc.collect()
    until(lambda: threads() <= before)  # threads of ZeroMQ have ended


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def test_a_context_remembers_open_sockets_only() -> None:
    context = OwnedContext()
    kept = context.socket(zmq.PAIR)
    for _ in range(10 * SPARE):
        context.socket(zmq.PAIR).close()
    assert kept in context.held and len(context.held) <= 2 * SPARE + 3
    kept.close()
    context.term()


class Owner:
    pass


def test_whoever_goes_takes_the_context_along() -> None:
    owner = Owner()
    lifetime = Lifetime(owner)
    left = lifetime.context.socket(zmq.DEALER)
    left.connect("tcp://127.0.0.1:1")
    left.send(b"never read")
    del owner
    gc.collect()
    assert left.closed
    until(lambda: lifetime.context.closed)  # closed by a thread of its own


def test_what_was_ended_in_order_is_not_ended_twice() -> None:
    owner = Owner()
    lifetime = Lifetime(owner)
    lifetime.context.socket(zmq.PAIR).close()
    lifetime.terminate()
    assert lifetime.context.closed
    del owner
    gc.collect()
