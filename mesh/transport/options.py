"""The options that all sockets have in common, and how a socket is read and written."""

# Law 1: No socket has a bound on the messages that wait to be read. At such a bound ZeroMQ stops reading. If
#        the connection then breaks, and a PING of ZMTP is due or waits behind the bound, ZeroMQ aborts the
#        process (`Assertion failed: !_io_error`; libzmq issues 3937, 4364, 4767). Any peer can send a PING.
#        The guard (`unread.py`) bounds by bytes what an inbound connection may leave unread.
# Law 2: No socket sends heartbeats of ZMTP. Nodes and clients ping each other with commands of their own.
#        TCP keepalive finds a half-open connection on which nothing is sent, such as that of a SUB.

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic

import zmq

from mesh.security.keys import Keys, Pair
from mesh.wire.limits import FRAME

Socket = zmq.Socket[bytes]
ZmqContext = zmq.Context[zmq.Socket[bytes]]

NOBLOCK, MORE, POLLIN = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE), int(zmq.POLLIN)  # enums are slow
TURN = 128  # messages taken from a socket before others get their turn,
LONG = 0.05  # s, if each does not take long: one with a costly key may take a tenth of a second
HIGH_WATER = (
    4096  # messages that wait to be sent; the windows of the streams above are what really bounds a pipe
)
UNBOUNDED = 0  # messages that wait to be read: see Law 1
CONNECTING = 2000  # ms for TCP's first answer: Linux asks after 0, 1, 3 and 7 s, so a new dial asks sooner
IDLE, BETWEEN, PROBES = 5, 2, 3  # of TCP keepalive: s of silence, s between probes, unanswered probes
# ms that what was sent may stay without an acknowledgement of TCP. Keepalive does not begin before that,
# which would be a quarter of an hour; and a node waits for long for a client that has work.
UNANSWERED = 1000 * (IDLE + BETWEEN * PROBES) + 7  # odd: `forked.py` knows our connections by it
LINGER = 300  # ms for what was sent just before a connection is closed


def new_socket(context: ZmqContext, kind: int, address: str) -> Socket:
    """A socket for this address, with the options all of ours have."""
    socket = context.socket(kind)
    # Only then: it would rewrite IPv4 addresses. `*` is every address of both families.
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


def turn() -> Iterator[None]:
    """Once for each message that may be taken before others get their turn."""
    until = monotonic() + LONG
    for _ in range(TURN):
        yield
        if monotonic() > until:
            return


def drain(socket: Socket, most: int = TURN) -> list[list[bytes]]:
    """The messages that wait, at most so many."""
    messages: list[list[bytes]] = []
    while len(messages) < most and readable(socket):
        messages.append(received(socket))
    return messages


def received(socket: Socket) -> list[bytes]:
    """The message that waits, or what is left of it. zmq.Again when there is none.

    Two thirds of the time of recv_multipart: a frame knows whether more follow, its socket must be asked.
    """
    frame = socket.recv(NOBLOCK, copy=False)
    frames = [frame.bytes]
    while frame.more:
        frame = socket.recv(NOBLOCK, copy=False)
        frames.append(frame.bytes)
    return frames


def first_words(socket: Socket) -> tuple[str, int, list[bytes]]:
    """The first words of a message: who speaks, as our ZAP handler named them ("" without one), on which
    descriptor, and what is left of the message."""
    frame = socket.recv(NOBLOCK, copy=False)
    try:
        user = str(frame.get("User-Id"))
    except zmq.ZMQError:
        user = ""
    number = int(str(frame.get(zmq.SRCFD)))
    return user, number, [frame.bytes, *(received(socket) if frame.more else [])]


def send_frames(socket: Socket, frames: list[bytes]) -> None:
    """One message; zmq.ZMQError EAGAIN or EHOSTUNREACH when it cannot go, and then nothing of it went."""
    for frame in frames[:-1]:
        socket.send(frame, MORE)
    socket.send(frames[-1], NOBLOCK)


def descriptor(socket: Socket) -> int:
    """The descriptor that an event loop watches."""
    return int(socket.getsockopt(zmq.FD))


def readable(socket: Socket) -> bool:
    """Does a message wait?"""
    return bool(int(socket.getsockopt(zmq.EVENTS)) & POLLIN)
