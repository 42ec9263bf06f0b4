"""Listening sockets for connections of nodes and clients, and the inbound connections that they accept."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import zmq

from mesh.errors import BindRefused
from mesh.security.keys import Pair
from mesh.security.zap import DOMAIN
from mesh.transport.forked import Endpoints
from mesh.transport.guard import Allowance
from mesh.transport.handshakes import Doorman
from mesh.transport.inbound import Arrivals, Inbound, Key
from mesh.transport.monitor import Monitor
from mesh.transport.options import (
    LINGER,
    NOBLOCK,
    TURN,
    Socket,
    ZmqContext,
    descriptor,
    first_words,
    guard,
    new_socket,
    read_later,
    readable,
    received,
    send_frames,
    turn,
)
from mesh.transport.unfinished import CLIENT, NODE
from mesh.transport.watch import TrafficWatch


@dataclass(frozen=True, slots=True)
class Listener:
    """A bound ROUTER. `doorman` watches for new and ended connections, and over TCP for failed handshakes."""

    socket: Socket
    endpoint: str
    trusted: bool
    keyed: bool
    doorman: Doorman | Monitor


class Listeners:
    """The bound ROUTERs of one `Sockets`, and their connections.

    `came` gets the key, the endpoint, whether it is trusted, and the public key of each connection that sends
    its first message. `received` gets each message, and `idle` is called after a batch. `lose` gets the key
    of a connection that ended or cannot accept a message, and later calls `forget_connection`. `stranger`
    gets a line about each connection that is refused, or closed at a limit of `allowance`. `left` is called
    when any TCP connections have ended.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: ZmqContext,
        endpoints: Endpoints,
        came: Callable[[Key, str, bool, str], None],
        received: Callable[[Key, list[bytes]], None],
        idle: Callable[[], None],
        lose: Callable[[Key], None],
        stranger: Callable[[str], None],
        left: Callable[[], None],
        allowance: Allowance,
    ) -> None:
        self._loop, self._context, self._endpoints = loop, context, endpoints
        self._came, self._received, self._idle, self._lose = came, received, idle, lose
        self._stranger, self._left = stranger, left
        self.watch = TrafficWatch(loop, allowance, self.read_waiting, stranger)
        self._routers: dict[int, Listener] = {}
        self._arrivals = Arrivals()
        self._again: set[Socket] = set()  # sockets to read again in the next turn
        self._is_closed = False

    def bind(self, address: str, trusted: bool, pair: Pair | None, has_keys: bool) -> str:
        """Listen, and return the address with its real port. Raises: BindRefused if binding fails.

        With a `pair` the socket uses CURVE. A trusted address is a file that only this user can open.
        `has_keys` says whether the mesh has keys.
        """
        socket = new_socket(self._context, zmq.ROUTER, address)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        is_keyed = pair is not None
        if pair is not None:
            guard(socket, pair, DOMAIN)
        number = len(self._routers)
        doorman = self._doorman(socket, number, trusted, is_keyed)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            doorman.close()
            socket.close()
            raise refusal(address, error, has_keys) from error
        endpoint = socket.getsockopt_string(zmq.LAST_ENDPOINT)
        if trusted:
            Path(address.removeprefix("ipc://")).chmod(0o600)
        self._endpoints.add(endpoint, is_bound=True)
        self._routers[number] = Listener(socket, endpoint, trusted, is_keyed, doorman)
        self._loop.add_reader(descriptor(socket), self._router_readable, number)
        read_later(self._loop, self._again, socket, lambda: self._router_readable(number))
        return endpoint

    def _doorman(self, socket: Socket, number: int, trusted: bool, is_keyed: bool) -> Doorman | Monitor:
        def accepted(descriptor: int) -> None:
            self._over(self._arrivals.accepted((number, descriptor)))

        def ended(descriptor: int) -> None:
            self._over(self._arrivals.end_place((number, descriptor)))

        if trusted:
            events = zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED

            def note(event: int, descriptor: int) -> None:
                (accepted if event == zmq.EVENT_ACCEPTED else ended)(descriptor)

            return Monitor(self._loop, self._context, socket, events, note)
        stranger = self._stranger if is_keyed else lambda text: None
        return Doorman(self._loop, self._context, socket, stranger, self._left, accepted, ended, self.watch)

    def proven(self, key: Inbound, user: str, is_node: bool) -> None:
        """Record that the connection `key` has sent a valid HELLO; `user` is its public CURVE key, or ""."""
        if self._arrivals.lives(key):
            self.watch.mark_proven(self._arrivals.places[key][1], NODE if is_node else CLIENT, user)

    def send(self, key: Inbound, frames: list[bytes]) -> None:
        number, routing_id = key
        socket = self._routers[number].socket
        try:
            send_frames(socket, [routing_id, *frames])
        except zmq.ZMQError:
            self._lose(key)
        read_later(self._loop, self._again, socket, lambda: self._router_readable(number))

    def forget_connection(self, key: Inbound) -> None:
        """Forget a connection. Over TCP it is closed a moment later, if it is alive."""
        if (place := self._arrivals.forget_connection(key)) is not None:
            self.watch.unwanted(place[1])

    def close(self) -> None:
        self._is_closed = True
        for listener in self._routers.values():
            self._loop.remove_reader(descriptor(listener.socket))
            listener.doorman.close()
            listener.socket.close(linger=LINGER)
            if listener.endpoint.startswith("ipc://"):
                Path(listener.endpoint.removeprefix("ipc://")).unlink(missing_ok=True)

    # --- reading --------------------------------------------------------------------------------------

    def _router_readable(self, number: int) -> None:
        if self._is_closed:
            return
        listener = self._routers[number]
        socket = listener.socket
        self._again.discard(socket)
        for _ in turn():
            if not readable(socket):  # arms the descriptor for further messages
                self.watch.emptied.add(listener.endpoint)
                break
            key = (number, socket.recv(NOBLOCK))
            self._received(key, self._frames(listener, key))
        else:
            read_later(self._loop, self._again, socket, lambda: self._router_readable(number))
        self._idle()

    def _frames(self, listener: Listener, key: Inbound) -> list[bytes]:
        place = self._arrivals.places.get(key)
        if place is not None:
            frames = received(listener.socket)
            self._note_read(listener, place[1], frames)
            return frames
        # The first message identifies the peer: ZeroMQ gives no other connection the same routing id
        # meanwhile.
        user, number, frames = first_words(listener.socket)
        self._note_read(listener, number, frames)
        self._over(self._arrivals.spoke(key, (key[0], number), listener.doorman.catch_up))
        self._came(key, listener.endpoint, listener.trusted, user if listener.keyed else "")
        return frames

    def _note_read(self, listener: Listener, number: int, frames: list[bytes]) -> None:
        if not listener.trusted:
            self.watch.note_read(number, frames, listener.keyed)

    def _over(self, key: Inbound | None) -> None:
        if key is not None:
            self._lose(key)

    def read_waiting(self) -> None:
        """Read waiting messages, at least one of each connection: ZeroMQ reads them in turn."""
        for number, listener in self._routers.items():
            for _ in range(2 + len(self._arrivals.places) // TURN):
                if self._is_closed or not readable(listener.socket):
                    break
                self._router_readable(number)


def refusal(address: str, error: zmq.ZMQError, has_keys: bool) -> BindRefused:
    """Return the error for an address that cannot be bound. With keys a node binds two ports."""
    port = address.rpartition(":")[2]
    if error.errno in (errno.EMFILE, errno.ENFILE):
        hint = "Raise the limit of open files (ulimit -n), then try again."
    elif address.startswith("ipc://"):
        hint = "Check the permissions of its directory, and that the path is not too long."
    elif error.errno == errno.EACCES and port.isdecimal() and 0 < int(port) < 1024:
        hint = "Ports below 1024 may be reserved for the system: choose a higher port, or 0 for a free one."
    elif error.errno not in (errno.EADDRINUSE, errno.EACCES):
        hint = "Use an address of this machine, such as tcp://127.0.0.1:PORT; port 0 selects a free one."
    elif has_keys:
        hint = (
            "Another program or node may use this port; a node also uses the port after its own, for gossip. "
            "See `mesh ls`, or bind tcp://*:0 for a free port."
        )
    else:
        hint = "Another program or node may use it. See `mesh ls`, or bind tcp://127.0.0.1:0 for a free port."
    return BindRefused(f"The address {address} cannot be bound: {zmq.strerror(error.errno or 0)}.", hint=hint)
