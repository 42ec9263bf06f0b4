"""Socket options that keep a peer from making ZeroMQ abort the process."""

import asyncio
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
import zmq

from mesh.transport.options import UNANSWERED, UNBOUNDED, new_socket, readable
from mesh.transport.outbound import NEVER
from tests.mesh.transport.ends import LIMIT, End, node_keys

RESET = struct.pack("ii", 1, 0)
GREETING = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01NULL" + b"\0" * 48  # of ZMTP 3.1, which has PING
TYPE = {"ROUTER": b"DEALER", "DEALER": b"ROUTER", "SUB": b"PUB"}  # the type of socket that connects to each
PING = b"\x04\x07\x04PING\0\0"
MANY = 5000  # messages: above any limit so far
SOON, BEAT = 0.5, 2.5  # s until ZeroMQ has read all; between heartbeats


def ready(kind: bytes) -> bytes:
    words = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    return b"\x04" + bytes([len(words)]) + words


def test_no_socket_has_a_bound_at_which_zeromq_stops_reading_nor_heartbeats() -> None:
    async def scenario() -> None:
        end = End(node_keys(1))
        end.sockets.bind("tcp://127.0.0.1:0", trusted=False)
        end.sockets.listen(end.sockets.bind_pub("tcp://127.0.0.1:0"))
        end.sockets.dial(1, "tcp://127.0.0.1:1")
        made = [each for each in end.sockets._context.held if each.type != zmq.PAIR]
        assert {zmq.ROUTER, zmq.PUB, zmq.SUB, zmq.DEALER} <= {each.type for each in made}
        for each in made:
            found = [int(each.getsockopt(option)) for option in (zmq.RCVHWM, zmq.HEARTBEAT_IVL)]
            assert found == [UNBOUNDED, 0], each
            assert each.getsockopt(zmq.TCP_KEEPALIVE) == 1
        end.sockets.close()

    asyncio.run(scenario())


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux keeps of its sockets")
def test_a_machine_that_is_gone_is_found_out_though_something_was_just_sent_to_it() -> None:
    """TCP keepalive sends no probes while data is unacknowledged, so both ends need a timeout for it."""
    context = zmq.Context[zmq.Socket[bytes]]()
    server, client = new_socket(context, zmq.ROUTER, ""), new_socket(context, zmq.DEALER, "")
    port = server.bind_to_random_port("tcp://127.0.0.1")
    client.connect(f"tcp://127.0.0.1:{port}")
    client.send(b"in")
    assert server.poll(int(1000 * LIMIT))
    limits = [limit for number in os.listdir("/proc/self/fd") for limit in user_timeouts(int(number), port)]
    assert limits == [UNANSWERED, UNANSWERED] and 11_000 <= UNANSWERED < 12_000
    client.close()
    server.close()
    context.term()


def user_timeouts(number: int, port: int) -> list[int]:
    """TCP_USER_TIMEOUT of the descriptor, in ms, if it is a connection with that port."""
    try:
        with socket.socket(fileno=os.dup(number)) as it:
            ports = it.getsockname()[1], it.getpeername()[1]
            return [it.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)] if port in ports else []
    except (OSError, IndexError):  # not a socket, or not connected
        return []


@pytest.mark.slow
@pytest.mark.parametrize("last", [b"", PING], ids=("killed", "killed behind a ping"))
@pytest.mark.parametrize("kind", ["ROUTER", "DEALER", "SUB"])
def test_a_peer_that_floods_and_is_killed_leaves_the_process_alive(kind: str, last: bytes) -> None:
    # The test runs in a process of its own, which ZeroMQ would abort.
    program = f"from tests.mesh.transport.test_options import flooded; flooded({kind!r}, {last!r})"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        timeout=2 * LIMIT,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr


def flooded(kind: str, last: bytes) -> None:
    """Receive a flood from a peer that is then killed, and read all of it afterwards."""
    context = zmq.Context[zmq.Socket[bytes]]()
    ours = new_socket(context, getattr(zmq, kind), "")
    if kind == "ROUTER":
        port = ours.bind_to_random_port("tcp://127.0.0.1")
        line = socket.create_connection(("127.0.0.1", port))
    else:
        if kind == "SUB":
            ours.setsockopt(zmq.SUBSCRIBE, b"")
        ours.setsockopt(zmq.RECONNECT_IVL, NEVER)
        with socket.create_server(("127.0.0.1", 0)) as server:
            ours.connect(f"tcp://127.0.0.1:{server.getsockname()[1]}")
            line, _ = server.accept()
    line.sendall(GREETING + ready(TYPE[kind]))
    heard = b""
    while b"READY" not in heard:
        heard += line.recv(1000)
    line.sendall(b"\0\1x" * MANY + last)
    time.sleep(SOON)  # no event shows when ZeroMQ has finished
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    line.close()
    time.sleep(SOON if last else BEAT)
    count = 0
    while readable(ours):
        ours.recv_multipart()
        count += 1
    assert count == MANY, count
    ours.close()
    context.term()
