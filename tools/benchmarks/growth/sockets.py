"""The cost of many real client connections for a real node."""

import time
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import zmq

from mesh.local.localnodes import running_nodes
from mesh.proof import STREAM_KEY, stream_of
from mesh.wire import commands as c
from mesh.wire.frames import read, write
from tools.running.nodes import ANYWHERE, Node
from tools.running.processes import Failed, Processes

LIMIT = 60  # s
AT_ONCE = 64  # unanswered greetings, fewer than the listen backlog


def measured(size: int) -> dict[str, float]:
    """Connect `size` clients by ipc, wait for each welcome, and return the figures.

    `connect` is in s, `cpu` in CPU s of the node, and `bytes` are resident bytes of the node for each client.
    """
    with Processes() as processes, ExitStack() as closing:
        node = Node(processes, "heron", *ANYWHERE)
        node.start()
        [place] = [known["ipc"] for known in running_nodes(processes.place)]
        process = psutil.Process(node.program.pid)
        resident, cpu = process.memory_info().rss, _used(process)
        start = time.monotonic()
        context = closing.enter_context(zmq.Context())
        context.set(zmq.MAX_SOCKETS, size + AT_ONCE)
        for batch in _batches(size):
            sockets = [closing.enter_context(context.socket(zmq.DEALER)) for _ in batch]
            for number, socket in zip(batch, sockets, strict=True):
                socket.linger = 0
                socket.connect(place)
                socket.send_multipart(write(_hello(number)))
            for socket in sockets:
                _welcomed(socket)
        taken = time.monotonic() - start
        each = (process.memory_info().rss - resident) / size
        return {"connect": taken, "cpu": _used(process) - cpu, "bytes": each}


def _batches(size: int) -> Iterator[range]:
    for start in range(0, size, AT_ONCE):
        yield range(start, min(size, start + AT_ONCE))


def _hello(number: int) -> c.Hello:
    key = number.to_bytes(STREAM_KEY)
    stream = stream_of(key)
    return c.Hello((1, 1), c.CLIENT, "", bytes(16), client=f"joe{number}", session=1, stream=stream, key=key)


def _welcomed(socket: "zmq.Socket[bytes]") -> None:
    if not socket.poll(LIMIT * 1000):
        raise Failed(f"a client was not answered within {LIMIT} s")
    command, _ = read(socket.recv_multipart())
    if not isinstance(command, c.Welcome):
        raise Failed(f"a client was answered with {command}")


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
