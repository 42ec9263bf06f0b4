"""Common options of all sockets, and functions to read and write them."""

# Law 1: no socket limits the messages that wait to be read. At such a limit ZeroMQ stops reading. If the
# connection then breaks while a PING of ZMTP is due or waits behind the limit, ZeroMQ aborts the process
# (`Assertion failed: !_io_error`; libzmq issues 3937, 4364, 4767). Any peer can send a PING. The guard
# (`unread.py`) limits the bytes that an inbound connection may leave unread.
# Law 2: no socket sends heartbeats of ZMTP. Nodes and clients ping each other with their own commands. TCP
# keepalive detects half-open connections without traffic, such as that of a SUB.

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from time import monotonic

import zmq

from mesh.security.keys import Keys, Pair
from mesh.wire.limits import FRAME

Socket = zmq.Socket[bytes]
ZmqContext = zmq.Context[zmq.Socket[bytes]]

NOBLOCK, MORE, POLLIN = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE), int(zmq.POLLIN)  # enums are slow
TURN = 128  # messages read from a socket before others
# Seconds of such a turn: a message with a costly key may take a tenth of a second.
LONG = 0.05
# Messages that wait to be sent. The real limits are the windows of the streams.
HIGH_WATER = 4096
UNBOUNDED = 0  # messages that wait to be read: see Law 1
# Milliseconds for TCP's first answer: Linux retries after 0, 1, 3 and 7 s, so a new dial is faster.
CONNECTING = 2000
IDLE, BETWEEN, PROBES = 5, 2, 3  # TCP keepalive: s idle, s between probes, probes
# Milliseconds that data may stay without a TCP acknowledgment. Keepalive begins only after that, by default
# in a quarter of an hour, and a node waits long for a client that has work.
UNANSWERED = 1000 * (IDLE + BETWEEN * PROBES) + 7  # odd: `forked.py` recognizes connections by it
LINGER = 300  # ms for messages sent just before closing


def new_socket(context: ZmqContext, kind: int, address: str) -> Socket:
    """Return a new socket for this address with the common options."""
    socket = context.socket(kind)
    # Only if needed: it would rewrite IPv4 addresses. `*` is every address of both families.
    socket.setsockopt(zmq.IPV6, int("[" in address or "//*:" in address))
    for option, value in (
        (zmq.LINGER, 0),
        (zmq.MAXMSGSIZE, FRAME),
        (zmq.SNDHWM, HIGH_WATER),
        (zmq.RCVHWM, UNBOUNDED),
        (zmq.CONNECT_TIMEOUT, CONNECTING),
        (zmq.HANDSHAKE_IVL, 5000),
        (zmq.TCP_KEEPALIVE, 1),
        (zmq.TCP_KEEPALIVE_IDLE, IDLE),
        (zmq.TCP_KEEPALIVE_INTVL, BETWEEN),
        (zmq.TCP_KEEPALIVE_CNT, PROBES),
        (zmq.TCP_MAXRT, UNANSWERED),
        (zmq.BACKLOG, 512),
    ):
        socket.setsockopt(option, value)
    return socket


def guard(socket: Socket, pair: Pair, domain: bytes) -> None:
    """Require CURVE and admission by the ZAP handler on a socket to be bound."""
    # Without "enforce" ZeroMQ would admit all connections while the handler is missing.
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
    socket.setsockopt(zmq.ZAP_DOMAIN, domain)
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt_string(zmq.CURVE_SECRETKEY, pair.secret)


def unlock(socket: Socket, keys: Keys, server: str) -> None:
    """Set the keys of a socket that dials, and the server key that the other end must have."""
    socket.setsockopt_string(zmq.CURVE_SERVERKEY, server)
    socket.setsockopt_string(zmq.CURVE_PUBLICKEY, keys.mine.public)
    socket.setsockopt_string(zmq.CURVE_SECRETKEY, keys.mine.secret)


def turn() -> Iterator[None]:
    """Yield once for each message that may be read before other sockets, for at most LONG seconds."""
    until = monotonic() + LONG
    for _ in range(TURN):
        yield
        if monotonic() > until:
            return


def drain(socket: Socket, most: int = TURN) -> list[list[bytes]]:
    messages: list[list[bytes]] = []
    while len(messages) < most and readable(socket):
        messages.append(received(socket))
    return messages


def received(socket: Socket) -> list[bytes]:
    """Return the waiting message, or the rest of it. Raises: zmq.Again, if there is none.

    Reading by frames takes two thirds of the time of recv_multipart: a frame knows whether more follow.
    """
    frame = socket.recv(NOBLOCK, copy=False)
    frames = [frame.bytes]
    while frame.more:
        frame = socket.recv(NOBLOCK, copy=False)
        frames.append(frame.bytes)
    return frames


def first_words(socket: Socket) -> tuple[str, int, list[bytes]]:
    """Return the user, the descriptor and the rest of a new connection's first message.

    The user is the name given by the ZAP handler, or "".
    """
    frame = socket.recv(NOBLOCK, copy=False)
    try:
        user = str(frame.get("User-Id"))
    except zmq.ZMQError:
        user = ""
    number = int(str(frame.get(zmq.SRCFD)))
    return user, number, [frame.bytes, *(received(socket) if frame.more else [])]


def send_frames(socket: Socket, frames: list[bytes]) -> None:
    """Send a message, or nothing of it. Raises: zmq.ZMQError EAGAIN or EHOSTUNREACH."""
    for frame in frames[:-1]:
        socket.send(frame, MORE)
    socket.send(frames[-1], NOBLOCK)


def descriptor(socket: Socket) -> int:
    return int(socket.getsockopt(zmq.FD))


def readable(socket: Socket) -> bool:
    return bool(int(socket.getsockopt(zmq.EVENTS)) & POLLIN)


def read_later(
    loop: asyncio.AbstractEventLoop, pending: set[Socket], socket: Socket, read: Callable[[], None]
) -> None:
    """Schedule `read` for the next turn if messages wait and `pending` lacks the socket, and add it there.

    The descriptor reports only changes, not messages that wait after a send or recv.
    """
    if socket not in pending and readable(socket):
        pending.add(socket)
        loop.call_soon(read)
