"""ZeroMQ as nodes and clients see it: connections with keys, messages as lists of frames."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Hashable
from pathlib import Path

import zmq

from mesh.errors import BindRefused
from mesh.wire.limits import FRAME

Key = Hashable  # of a connection: (router, routing id) came in; an int was dialled
TURN = 128  # messages taken from a socket before others get their turn
HIGH_WATER = 4096  # messages; the windows of the streams above are what really bounds a pipe
GONE = zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
NEVER = 86_400_000  # ms; a connection that has ended is closed at once
LINGER = 300  # ms for what was sent just before a connection is closed


def new_socket(context: zmq.Context[zmq.Socket[bytes]], kind: int, address: str) -> zmq.Socket[bytes]:
    """A socket for this address, with the options all of ours have."""
    socket = context.socket(kind)
    socket.setsockopt(zmq.IPV6, int("[" in address))  # only then: it would rewrite IPv4 addresses
    for option, value in (
        (zmq.LINGER, 0), (zmq.MAXMSGSIZE, FRAME), (zmq.SNDHWM, HIGH_WATER), (zmq.RCVHWM, HIGH_WATER),
        (zmq.HANDSHAKE_IVL, 5000), (zmq.HEARTBEAT_IVL, 2000), (zmq.HEARTBEAT_TIMEOUT, 6000),
        (zmq.HEARTBEAT_TTL, 6000), (zmq.BACKLOG, 512),
    ):  # fmt: skip
        socket.setsockopt(option, value)
    return socket


def drain(socket: zmq.Socket[bytes], most: int = TURN) -> list[list[bytes]]:
    """The messages that wait, at most so many. Direct recv calls: twice as fast as recv_multipart."""
    messages = []
    for _ in range(most):
        try:
            frames = [socket.recv(zmq.NOBLOCK)]
        except zmq.Again:
            break
        while socket.getsockopt(zmq.RCVMORE):
            frames.append(socket.recv(zmq.NOBLOCK))
        messages.append(frames)
    return messages


def send_frames(socket: zmq.Socket[bytes], frames: list[bytes]) -> None:
    """One message; zmq.ZMQError EAGAIN or EHOSTUNREACH when it cannot go, and then nothing of it went."""
    last = len(frames) - 1
    for i, frame in enumerate(frames):
        socket.send(frame, zmq.NOBLOCK | (zmq.SNDMORE if i < last else 0))


def descriptor(socket: zmq.Socket[bytes]) -> int:
    """What an event loop watches."""
    return int(socket.getsockopt(zmq.FD))


def readable(socket: zmq.Socket[bytes]) -> bool:
    """Does a message wait?"""
    return bool(int(socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN)


class Sockets:
    """Owns all sockets, on one loop: `came`, `received`, `gone` tell of a connection, `idle` ends a batch."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        came: Callable[[Key, str, bool], None],
        received: Callable[[Key, list[bytes]], None],
        gone: Callable[[Key], None],
        idle: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.set(zmq.MAX_SOCKETS, 16384)
        self._came, self._received, self._gone, self._idle = came, received, gone, idle
        self._routers: dict[int, tuple[zmq.Socket[bytes], str, bool]] = {}
        self._dialled: dict[Key, tuple[zmq.Socket[bytes], zmq.Socket[bytes]]] = {}
        self._known: set[Key] = set()
        self._lost: list[Key] = []
        self._again: set[zmq.Socket[bytes]] = set()  # sockets that will be looked at in the next turn
        self._closed = False

    def bind(self, address: str, trusted: bool) -> str:
        """Listen; returns the address with its real port. BindRefused when it cannot be had."""
        socket = new_socket(self._context, zmq.ROUTER, address)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            socket.close()
            hint = "Is another node running there? See `mesh ls`, or bind tcp://127.0.0.1:0 for a free port."
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                hint = "Write it as tcp://127.0.0.1:PORT; port 0 takes a free one."
            why = zmq.strerror(error.errno or 0)
            raise BindRefused(f"cannot bind {address}: {why}.", hint=hint) from error
        endpoint = socket.getsockopt_string(zmq.LAST_ENDPOINT)
        if trusted:
            Path(address.removeprefix("ipc://")).chmod(0o600)
        number = len(self._routers)
        self._routers[number] = (socket, endpoint, trusted)
        self._loop.add_reader(descriptor(socket), self._router_readable, number)
        self._look_again(socket, lambda: self._router_readable(number))
        return endpoint

    def dial(self, key: Key, address: str) -> None:
        """Open a connection of its own: when it ends, it is gone, and `gone` is called."""
        socket = new_socket(self._context, zmq.DEALER, address)
        # A new connection says HELLO anew, so this one must never reconnect. Not -1: with that ZeroMQ throws
        # away at the disconnect what has arrived and was not read yet.
        socket.setsockopt(zmq.RECONNECT_IVL, NEVER)
        monitor = socket.get_monitor_socket(GONE)
        self._dialled[key] = (socket, monitor)
        self._loop.add_reader(descriptor(socket), self._dealer_readable, key)
        self._loop.add_reader(descriptor(monitor), self._monitor_readable, key)
        if readable(monitor):  # asked once, or its descriptor never tells of the first event
            self._loop.call_soon(self._monitor_readable, key)
        try:
            socket.connect(address)
        except zmq.ZMQError:
            self._lose(key)

    def send(self, key: Key, frames: list[bytes]) -> None:
        """Put a message on a connection. One that cannot take it is gone: it will resume on a new one."""
        if isinstance(key, tuple):
            number, routing_id = key
            socket = self._routers[number][0]
            self._send(socket, key, [routing_id, *frames])
            self._look_again(socket, lambda: self._router_readable(number))
        elif key in self._dialled:
            socket = self._dialled[key][0]
            self._send(socket, key, frames)
            self._look_again(socket, lambda: self._dealer_readable(key))

    def _send(self, socket: zmq.Socket[bytes], key: Key, frames: list[bytes]) -> None:
        try:
            send_frames(socket, frames)
        except zmq.ZMQError:
            self._lose(key)

    def look(self, key: Key) -> None:
        """Take what has arrived on a dialled connection, now: for a caller that does not give up the loop."""
        self._dealer_readable(key)

    def hang_up(self, key: Key) -> None:
        """Close, or forget, a connection."""
        self._known.discard(key)
        if key in self._dialled:
            socket, monitor = self._dialled.pop(key)
            self._loop.remove_reader(descriptor(socket))
            self._loop.remove_reader(descriptor(monitor))
            socket.disable_monitor()  # first: an event for a closed monitor stops ZeroMQ's thread for ever
            monitor.close()
            socket.close(linger=LINGER)

    def close(self) -> None:
        """Close everything; what was just sent gets a moment to leave."""
        self._closed = True
        for key in list(self._dialled):
            self.hang_up(key)
        for socket, endpoint, _ in self._routers.values():
            self._loop.remove_reader(descriptor(socket))
            socket.close(linger=LINGER)
            if endpoint.startswith("ipc://"):
                Path(endpoint.removeprefix("ipc://")).unlink(missing_ok=True)
        self._context.term()

    def _router_readable(self, number: int) -> None:
        if self._closed:
            return
        socket, endpoint, trusted = self._routers[number]
        self._again.discard(socket)
        for routing_id, *frames in drain(socket):
            key = (number, routing_id)
            if key not in self._known:
                self._known.add(key)
                self._came(key, endpoint, trusted)
            self._received(key, frames)
        self._look_again(socket, lambda: self._router_readable(number))
        self._idle()

    def _dealer_readable(self, key: Key) -> None:
        if key not in self._dialled:
            return
        socket = self._dialled[key][0]
        self._again.discard(socket)
        for frames in drain(socket):
            self._received(key, frames)
        if key in self._dialled:
            self._look_again(socket, lambda: self._dealer_readable(key))
        self._idle()

    def _monitor_readable(self, key: Key) -> None:
        if key in self._dialled and drain(self._dialled[key][1]):
            while key in self._dialled and readable(self._dialled[key][0]):
                self._dealer_readable(key)  # its last words first
            self._lose(key)

    def _look_again(self, socket: zmq.Socket[bytes], look: Callable[[], None]) -> None:
        # The descriptor tells only of changes: what is there already after a send or recv, nobody announces.
        if socket not in self._again and readable(socket):
            self._again.add(socket)
            self._loop.call_soon(look)

    def _lose(self, key: Key) -> None:
        """Tell of it in the next turn: the core must not be called from within its own effects."""
        if not self._lost:
            self._loop.call_soon(self._tell_lost)
        self._lost.append(key)

    def _tell_lost(self) -> None:
        lost, self._lost = self._lost, []
        for key in dict.fromkeys(lost):
            self.hang_up(key)
            if not self._closed:
                self._gone(key)
        self._idle()
