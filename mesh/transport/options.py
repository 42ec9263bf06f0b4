"""What do all of our sockets have in common, and how is one read and written?"""

from __future__ import annotations

import zmq

from mesh.security.keys import Keys, Pair
from mesh.wire.limits import FRAME

Socket = zmq.Socket[bytes]
Context = zmq.Context[zmq.Socket[bytes]]

TURN = 128  # messages taken from a socket before others get their turn
HIGH_WATER = 4096  # messages; the windows of the streams above are what really bounds a pipe
LINGER = 300  # ms for what was sent just before a connection is closed


def new_socket(context: Context, kind: int, address: str) -> Socket:
    """A socket for this address, with the options all of ours have."""
    socket = context.socket(kind)
    # Only then: it would rewrite IPv4 addresses. `*` is every address of both families.
    socket.setsockopt(zmq.IPV6, int("[" in address or "//*:" in address))
    for option, value in (
        (zmq.LINGER, 0), (zmq.MAXMSGSIZE, FRAME), (zmq.SNDHWM, HIGH_WATER), (zmq.RCVHWM, HIGH_WATER),
        (zmq.HANDSHAKE_IVL, 5000), (zmq.HEARTBEAT_IVL, 2000), (zmq.HEARTBEAT_TIMEOUT, 6000),
        (zmq.HEARTBEAT_TTL, 6000), (zmq.BACKLOG, 512),
    ):  # fmt: skip
        socket.setsockopt(option, value)
    return socket


def guard(socket: Socket, pair: Pair, domain: bytes) -> None:
    """From now on it is bound with CURVE only, and with nobody whom our ZAP handler has not let in."""
    # Without "enforce" ZeroMQ would let everybody in when the handler is not there.
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
    socket.setsockopt(zmq.ZAP_DOMAIN, domain)
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt_string(zmq.CURVE_SECRETKEY, pair.secret)


def unlock(socket: Socket, keys: Keys, server: str) -> None:
    """From now on it dials with our keys, and only whoever has the other half of that server key."""
    socket.setsockopt_string(zmq.CURVE_SERVERKEY, server)
    socket.setsockopt_string(zmq.CURVE_PUBLICKEY, keys.mine.public)
    socket.setsockopt_string(zmq.CURVE_SECRETKEY, keys.mine.secret)


def drain(socket: Socket, most: int = TURN) -> list[list[bytes]]:
    """The messages that wait, at most so many. Direct recv calls: twice as fast as recv_multipart."""
    messages = []
    for _ in range(most):
        try:
            frames = [socket.recv(zmq.NOBLOCK)]
        except zmq.Again:
            break
        messages.append(more_of(socket, frames))
    return messages


def more_of(socket: Socket, frames: list[bytes]) -> list[bytes]:
    """The message of which these are the first frames."""
    while socket.getsockopt(zmq.RCVMORE):
        frames.append(socket.recv(zmq.NOBLOCK))
    return frames


def user_and_more(socket: Socket) -> tuple[str, list[bytes]]:
    """Who speaks, as our ZAP handler named them ("" without one), and the rest of the message."""
    if not socket.getsockopt(zmq.RCVMORE):
        return "", []
    frame = socket.recv(zmq.NOBLOCK, copy=False)  # slower, but only such a frame tells
    try:
        user = str(frame.get("User-Id"))
    except zmq.ZMQError:
        user = ""
    return user, more_of(socket, [frame.bytes])


def send_frames(socket: Socket, frames: list[bytes]) -> None:
    """One message; zmq.ZMQError EAGAIN or EHOSTUNREACH when it cannot go, and then nothing of it went."""
    last = len(frames) - 1
    for i, frame in enumerate(frames):
        socket.send(frame, zmq.NOBLOCK | (zmq.SNDMORE if i < last else 0))


def descriptor(socket: Socket) -> int:
    """What an event loop watches."""
    return int(socket.getsockopt(zmq.FD))


def readable(socket: Socket) -> bool:
    """Does a message wait?"""
    return bool(int(socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN)
