"""Sends very long or malformed messages to a node, for tools/benchmarks/measures/unfinished.py.

Arguments: the role (stranger, token, patient, pub, garbage), the address, the number of MiB or of
connections, and the cluster. The program implements as much of ZMTP as it needs.
"""

import os
import resource
import socket
import struct
import sys
import time
from collections import deque
from contextlib import suppress

import zmq

from mesh.client.access import access
from mesh.local.private import state_dir
from mesh.proof import stream_text
from mesh.security.derive import GOSSIP, derived
from mesh.security.keyfiles import read_mesh
from mesh.security.signing import curve_pair
from mesh.security.streamkey import STREAM_SEED, StreamKey
from mesh.transport.monitor import event_of
from mesh.wire import commands as c
from mesh.wire.frames import read, write

Socket = zmq.Socket[bytes]
MIB = 1024 * 1024
GREETING = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\x00NULL" + b"\0" * 48
READY = b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER"
LONG_AND_MORE, SHORT = b"\x03", b"\0\x20"
PIECE = bytes(64 * 1024)
WAIT = 1.0  # s for which the patient client is silent
STRANGERS, OTHERS = 50, 3  # successive connections until it gives up
AGAIN = 0.02  # s
SPARE = 100  # descriptors for the program itself
PATIENCE = 10.0  # s without progress until it gives up
SHAKEN = (
    zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)


def stranger(address: str, most: int) -> None:
    """Send `most` MiB in frames of one message, without a HELLO before them.

    Begin again when the node disconnects, at most STRANGERS times in total.
    """
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    frame = LONG_AND_MORE + struct.pack(">Q", len(PIECE)) + PIECE
    for _ in range(STRANGERS):
        with socket.create_connection((host, int(port)), PATIENCE) as line, suppress(OSError):
            shake_hands(line)
            for _ in range(most * MIB // len(PIECE)):
                line.sendall(frame)
            time.sleep(AGAIN)
            return


def token(address: str, most: int, cluster: str, wait: float = 0.0) -> None:
    """Log in as a client OTHERS times; each time, after `wait` s, send a message of `most` MiB."""
    it = access(address, cluster, os.environ)
    assert it.curve is not None
    for _ in range(OTHERS):
        context = zmq.Context()
        line = context.socket(zmq.DEALER)
        events = line.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        _lock(line, it.curve.server.public, it.curve.mine.public, it.curve.mine.secret)
        line.connect(address)
        mine, proof, signature = os.urandom(16), b"", b""
        stream = StreamKey(os.urandom(STREAM_SEED))
        for _ in range(2):
            hello = c.Hello(
                (1, 1),
                c.CLIENT,
                "",
                mine,
                proof,
                client="nobody",
                stream=stream.id,
                key=stream.public,
                signature=signature,
            )
            line.send_multipart(write(hello))
            answer, _ = read(line.recv_multipart())
            if isinstance(answer, c.Challenge):
                proof = it.proof(mine, answer.nonce)
                signature = stream.sign(stream_text(mine, answer.nonce, it.where, answer.uuid))
        assert isinstance(answer, c.Welcome), answer
        time.sleep(wait)
        _pour(line, events, most)
        context.destroy(linger=0)


def pub(address: str, most: int, cluster: str) -> None:
    """Send `most` MiB to the gossip socket of a node, which should only publish there, OTHERS times.

    A connection without a successful handshake is skipped, but not all of them may be.
    """
    file = read_mesh(state_dir(os.environ), cluster)
    assert file is not None
    server = curve_pair(derived(file.secret, cluster, GOSSIP)).public
    poured = 0
    for _ in range(OTHERS):
        context = zmq.Context()
        line = context.socket(zmq.XSUB)
        events = line.get_monitor_socket(zmq.EVENT_DISCONNECTED | SHAKEN)
        _lock(line, server, file.public, file.private)
        line.connect(address)
        # A node that has just disconnected this socket may do so again before the handshake is over.
        if _is_shaken(events):
            poured += 1
            time.sleep(AGAIN)
            _pour(line, events, most, b"\2" * 3072)  # no subscription, and of maximum frame size
        context.destroy(linger=0)
    assert poured, "no handshake of this one was ever over"


def garbage(address: str, most: int) -> None:
    """Open `most` connections, as many at a time as descriptors allow, each with a malformed message."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    room = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - SPARE
    resource.setrlimit(resource.RLIMIT_NOFILE, (room + SPARE, room + SPARE))
    lines: deque[socket.socket] = deque()
    for number in range(most):
        line = socket.socket()
        line.settimeout(PATIENCE)
        line.bind((f"127.0.{number // 10_000 + 1}.1", 0))  # one address has too few ports
        with suppress(OSError):
            line.connect((host, int(port)))
            shake_hands(line)
            line.sendall(SHORT + os.urandom(32))
        lines.append(line)
        if len(lines) == room:
            lines.popleft().close()
    time.sleep(AGAIN)


def shake_hands(line: socket.socket) -> None:
    """Complete ZeroMQ's handshake; data before its end would violate the protocol."""
    line.sendall(GREETING + READY)
    heard = b""
    while b"READY" not in heard:
        if not (came := line.recv(1024)):
            raise ConnectionResetError
        heard += came


def _lock(line: Socket, server: str, public: str, secret: str) -> None:
    line.setsockopt(zmq.RECONNECT_IVL, -1)
    line.setsockopt(zmq.RCVTIMEO, int(1000 * PATIENCE))
    line.setsockopt_string(zmq.CURVE_SERVERKEY, server)
    line.setsockopt_string(zmq.CURVE_PUBLICKEY, public)
    line.setsockopt_string(zmq.CURVE_SECRETKEY, secret)


def _is_shaken(events: Socket) -> bool:
    """Wait until the handshake is over, at most PATIENCE seconds, and return whether it succeeded."""
    return bool(events.poll(int(1000 * PATIENCE))) and (
        event_of(events.recv_multipart())[0] == zmq.EVENT_HANDSHAKE_SUCCEEDED
    )


def _pour(line: Socket, events: Socket, most: int, piece: bytes = bytes(MIB)) -> None:
    """Send one message of `most` MiB, and wait until the node disconnects or the time is up.

    ZeroMQ sends only complete messages. The receiver sees no difference before the end of the message.
    """
    line.send_multipart([b"\2"] + [piece] * (most * MIB // len(piece)), copy=False)
    line.send(b"\2", copy=False)
    limit = time.monotonic() + PATIENCE + most / 100
    while time.monotonic() < limit:
        if events.poll(100) and event_of(events.recv_multipart())[0] == zmq.EVENT_DISCONNECTED:
            return


def main() -> None:
    who, address, most, cluster = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    match who:
        case "stranger":
            stranger(address, most)
        case "token":
            token(address, most, cluster)
        case "patient":
            token(address, most, cluster, WAIT)
        case "pub":
            pub(address, most, cluster)
        case "garbage":
            garbage(address, most)


if __name__ == "__main__":
    main()
