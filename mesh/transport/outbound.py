"""Outbound connections of a node or a client: a DEALER for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import zmq

from mesh.errors import LocalError, Refused
from mesh.local.descriptors import CONTEXT, check_descriptors
from mesh.security.keys import Keys
from mesh.transport.forked import Endpoints
from mesh.transport.handshakes import FAILED, failure
from mesh.transport.inbound import Key
from mesh.transport.options import (
    LINGER,
    Socket,
    ZmqContext,
    descriptor,
    drain,
    new_socket,
    read_later,
    readable,
    received,
    send_frames,
    turn,
    unlock,
)

GONE = zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED | FAILED
NEVER = 86_400_000  # ms; a connection that has ended is closed immediately


class OutboundConnections:
    """The dialed connections of one `Sockets`, by key.

    `received` gets each message, and `idle` is called after a batch. `lose` gets the key of a connection that
    ended, cannot be opened or cannot accept a message, and later calls `hang_up`. `failed` gets the error of
    a connection that fails before that.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: ZmqContext,
        endpoints: Endpoints,
        received: Callable[[Key, list[bytes]], None],
        idle: Callable[[], None],
        lose: Callable[[Key], None],
        failed: Callable[[Key, Refused], None],
    ) -> None:
        self._loop, self._context, self._endpoints = loop, context, endpoints
        self._received, self._idle, self._lose, self._failed = received, idle, lose, failed
        self._dialled: dict[Key, tuple[Socket, Socket]] = {}  # connection, monitor
        self._again: set[Socket] = set()  # sockets to read again in the next turn
        self._is_closed = False

    def dial(self, key: Key, address: str, keys: Keys | None) -> None:
        """Open a connection with its own socket. With `keys` it uses CURVE over TCP."""
        try:
            check_descriptors(CONTEXT)
            self._open(key, address, keys)
        except LocalError as error:
            self._loop.call_soon(self._say_failed, key, Refused(error.what, hint=error.hint, code=error.code))
            self._lose(key)
        except (zmq.ZMQError, OSError):  # invalid address, or no resources
            self._lose(key)

    def _say_failed(self, key: Key, error: Refused) -> None:
        if not self._is_closed:
            self._failed(key, error)

    def _open(self, key: Key, address: str, keys: Keys | None) -> None:
        self._endpoints.add(address)
        socket = new_socket(self._context, zmq.DEALER, address)
        if keys is not None and address.startswith("tcp:"):
            unlock(socket, keys, keys.server.public)
        # A new connection starts with HELLO, so this one must never reconnect. With -1 ZeroMQ would discard
        # unread messages at a disconnect.
        socket.setsockopt(zmq.RECONNECT_IVL, NEVER)
        try:
            monitor = socket.get_monitor_socket(GONE)
        except zmq.ZMQError:
            socket.close()
            raise
        self._dialled[key] = (socket, monitor)
        self._loop.add_reader(descriptor(socket), self.read_waiting, key)
        self._loop.add_reader(descriptor(monitor), self._monitor_readable, key)
        if readable(monitor):  # reading the events arms the descriptor
            self._loop.call_soon(self._monitor_readable, key)
        socket.connect(address)

    def send(self, key: Key, frames: list[bytes]) -> None:
        """Send a message, unless the connection has ended."""
        if key not in self._dialled:
            return
        socket = self._dialled[key][0]
        try:
            send_frames(socket, frames)
        except zmq.ZMQError:
            self._lose(key)
        read_later(self._loop, self._again, socket, lambda: self.read_waiting(key))

    def hang_up(self, key: Key) -> None:
        if key in self._dialled:
            socket, monitor = self._dialled.pop(key)
            self._loop.remove_reader(descriptor(socket))
            self._loop.remove_reader(descriptor(monitor))
            socket.disable_monitor()  # an event for a closed monitor stops ZeroMQ's thread
            monitor.close()
            socket.close(linger=LINGER)

    def close(self) -> None:
        self._is_closed = True
        for key in list(self._dialled):
            self.hang_up(key)

    def read_waiting(self, key: Key) -> None:
        """Read waiting messages, for at most one turn."""
        if key not in self._dialled:
            return
        socket = self._dialled[key][0]
        self._again.discard(socket)
        for _ in turn():
            if key not in self._dialled or not readable(socket):
                break
            self._received(key, received(socket))
        else:
            if key in self._dialled:
                read_later(self._loop, self._again, socket, lambda: self.read_waiting(key))
        self._idle()

    def _monitor_readable(self, key: Key) -> None:
        events = drain(self._dialled[key][1]) if key in self._dialled else []
        if not events:
            return
        while key in self._dialled and readable(self._dialled[key][0]):
            self.read_waiting(key)  # its last messages first
        if key in self._dialled:
            is_keyed = self._dialled[key][0].getsockopt(zmq.MECHANISM) == zmq.CURVE
            if (error := failure(events, is_keyed)) is not None:
                self._failed(key, error)
        self._lose(key)
