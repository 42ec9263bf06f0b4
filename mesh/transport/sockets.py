"""The sockets of a node or a client, on one event loop, and their connections."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path

import zmq

from mesh.errors import BindRefused, LocalError, Refused
from mesh.local.descriptors import CONTEXT, check_descriptors
from mesh.security.keys import Keys
from mesh.security.zap import DOMAIN
from mesh.transport.forked import Endpoints
from mesh.transport.gossip import GossipSockets
from mesh.transport.guard import Allowance
from mesh.transport.handshakes import FAILED, Doorman, failure
from mesh.transport.inbound import Arrivals, Inbound
from mesh.transport.library import check_ours
from mesh.transport.lifetime import Lifetime
from mesh.transport.monitor import Monitor
from mesh.transport.options import (
    LINGER,
    NOBLOCK,
    TURN,
    Socket,
    descriptor,
    drain,
    first_words,
    guard,
    new_socket,
    readable,
    received,
    send_frames,
    turn,
    unlock,
)
from mesh.transport.unfinished import CLIENT, NODE
from mesh.transport.watch import TrafficWatch
from mesh.transport.zap import ZapHandler

Key = Hashable  # of a connection: (router, routing id), or int if dialed
GONE = zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED | FAILED
NEVER = 86_400_000  # ms; a connection that has ended is closed immediately


@dataclass(frozen=True, slots=True)
class Listener:
    """A bound ROUTER. `doorman` watches for new and ended connections, and over TCP for failed handshakes."""

    socket: Socket
    endpoint: str
    trusted: bool
    keyed: bool
    doorman: Doorman | Monitor


class Sockets:
    """All sockets of a node or a client. `came`, `received` and `gone` report on connections.

    `idle` is called after a batch. With `keys` each TCP socket uses CURVE, and `came` gets the public key of
    the dialing peer. `heard` gets gossip messages. `stranger` gets a line about each connection that is
    refused, or closed at a limit. `failed`, if given, gets the key and the error of outbound connections that
    fail, in place of such a line. `gone` reports the ends of dialed connections, and of inbound ones that had
    sent something; `left` is called when any inbound TCP connections have ended. `allowance` limits inbound
    connections.
    """

    def __init__(  # noqa: PLR0913
        self,
        loop: asyncio.AbstractEventLoop,
        came: Callable[[Key, str, bool, str], None],
        received: Callable[[Key, list[bytes]], None],
        gone: Callable[[Key], None],
        idle: Callable[[], None],
        keys: Keys | None = None,
        heard: Callable[[list[bytes]], None] = lambda frames: None,
        stranger: Callable[[str], None] = lambda text: None,
        failed: Callable[[Key, Refused], None] | None = None,
        left: Callable[[], None] = lambda: None,
        allowance: Allowance = Allowance(),  # noqa: B008
    ) -> None:
        check_ours()
        self._loop = loop
        self._lifetime = Lifetime(self)
        self._context = self._lifetime.context
        self._context.set(zmq.MAX_SOCKETS, 16384)
        self._came, self._received, self._gone, self._idle = came, received, gone, idle
        self._keys, self._stranger, self._left = keys, stranger, left
        self._failed = failed or (lambda key, error: stranger(error.what))
        self._zap = ZapHandler(loop, self._context, stranger) if keys and keys.server.secret else None
        self._watch = TrafficWatch(loop, allowance, self._read_waiting, stranger)
        self._endpoints = Endpoints()
        self._gossip = GossipSockets(loop, self._context, heard, idle, keys, self._watch, self._endpoints)
        self._routers: dict[int, Listener] = {}
        self._dialled: dict[Key, tuple[Socket, Socket]] = {}
        self._arrivals = Arrivals()
        self._lost: list[Key] = []
        self._again: set[Socket] = set()  # sockets to read again in the next turn
        self._closed = False

    # --- inbound --------------------------------------------------------------------------------------

    def bind(self, address: str, trusted: bool) -> str:
        """Listen, and return the address with its real port. Raises: BindRefused.

        A trusted address is a file that only this user can open, without keys.
        """
        if self._keys is not None and not trusted:
            self._require_zap()
        socket = new_socket(self._context, zmq.ROUTER, address)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        is_keyed = self._keys is not None and not trusted
        if self._keys is not None and is_keyed:
            guard(socket, self._keys.server, DOMAIN)
        number = len(self._routers)
        doorman = self._doorman(socket, number, trusted, is_keyed)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            doorman.close()
            socket.close()
            raise refusal(address, error, self._keys is not None) from error
        endpoint = socket.getsockopt_string(zmq.LAST_ENDPOINT)
        if trusted:
            Path(address.removeprefix("ipc://")).chmod(0o600)
        self._endpoints.add(endpoint, is_bound=True)
        self._routers[number] = Listener(socket, endpoint, trusted, is_keyed, doorman)
        self._loop.add_reader(descriptor(socket), self._router_readable, number)
        self._look_again(socket, lambda: self._router_readable(number))
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
        return Doorman(self._loop, self._context, socket, stranger, self._left, accepted, ended, self._watch)

    def bind_pub(self, address: str) -> str:
        """Bind the PUB for `publish`, and return its address.

        Raises: BindRefused, if binding fails, or over TCP without keys.
        """
        if self._keys is not None:
            self._require_zap()
        try:
            return self._gossip.bind(address)
        except zmq.ZMQError as error:
            raise refusal(address, error, self._keys is not None) from error

    def proven(self, key: Key, user: str, is_node: bool) -> None:
        """Record that the connection `key` has sent a valid HELLO; `user` is its public CURVE key, or ""."""
        if self._zap is not None and user:
            self._zap.gate.proven(user)
        if isinstance(key, tuple) and self._arrivals.lives(key):
            self._watch.proven(self._arrivals.places[key][1], NODE if is_node else CLIENT, user)

    def _require_zap(self) -> None:
        # Not `assert`, which may be disabled.
        if self._zap is None or self._zap.closed:
            raise BindRefused("No authenticator checks incoming connections.", code="BIND_WITHOUT_KEYS")

    # --- outbound -------------------------------------------------------------------------------------

    def dial(self, key: Key, address: str, keys: Keys | None = None) -> None:
        """Open a connection with its own socket.

        `gone` is called when the connection ends or cannot be opened.
        """
        try:
            check_descriptors(CONTEXT)
            self._open(key, address, keys)
        except LocalError as error:
            self._loop.call_soon(self._say_failed, key, Refused(error.what, hint=error.hint, code=error.code))
            self._lose(key)
        except (zmq.ZMQError, OSError):  # invalid address, or no resources
            self._lose(key)

    def _say_failed(self, key: Key, error: Refused) -> None:
        if not self._closed:
            self._failed(key, error)

    def _open(self, key: Key, address: str, keys: Keys | None) -> None:
        self._endpoints.add(address)
        socket = new_socket(self._context, zmq.DEALER, address)
        keys = keys or self._keys
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
        self._loop.add_reader(descriptor(socket), self._dealer_readable, key)
        self._loop.add_reader(descriptor(monitor), self._monitor_readable, key)
        if readable(monitor):  # reading the events arms the descriptor
            self._loop.call_soon(self._monitor_readable, key)
        socket.connect(address)

    def send(self, key: Key, frames: list[bytes]) -> None:
        """Send a message. A connection that cannot accept the message is lost."""
        if isinstance(key, tuple):
            number, routing_id = key
            socket = self._routers[number].socket
            self._send(socket, key, [routing_id, *frames])
            self._look_again(socket, lambda: self._router_readable(number))
        elif key in self._dialled:
            socket = self._dialled[key][0]
            self._send(socket, key, frames)
            self._look_again(socket, lambda: self._dealer_readable(key))

    def _send(self, socket: Socket, key: Key, frames: list[bytes]) -> None:
        try:
            send_frames(socket, frames)
        except zmq.ZMQError:
            self._lose(key)

    def read_arrived(self, key: Key) -> None:
        """Read a dialed connection now, for a caller that blocks the event loop."""
        self._dealer_readable(key)

    # --- gossip ---------------------------------------------------------------------------------------

    def publish(self, frames: list[bytes]) -> None:
        """Publish to all subscribers. Slow subscribers miss the message."""
        self._gossip.publish(frames)

    def listen(self, address: str) -> None:
        """Subscribe to the PUB at this address. Repetition and unused addresses are harmless."""
        self._gossip.listen(address)

    def unlisten(self, address: str) -> None:
        self._gossip.unlisten(address)

    # --- end ------------------------------------------------------------------------------------------

    def hang_up(self, key: Key) -> None:
        """Close a dialed connection. An inbound one is forgotten, and over TCP closed a moment later."""
        if isinstance(key, tuple) and (place := self._arrivals.forget_connection(key)) is not None:
            self._watch.unwanted(place[1])
        if key in self._dialled:
            socket, monitor = self._dialled.pop(key)
            self._loop.remove_reader(descriptor(socket))
            self._loop.remove_reader(descriptor(monitor))
            socket.disable_monitor()  # an event for a closed monitor stops ZeroMQ's thread
            monitor.close()
            socket.close(linger=LINGER)

    def close(self) -> None:
        """Close all sockets, once. Messages just sent get a moment to leave."""
        if self._closed:
            return
        self._closed = True
        for key in list(self._dialled):
            self.hang_up(key)
        for listener in self._routers.values():
            self._loop.remove_reader(descriptor(listener.socket))
            listener.doorman.close()
            listener.socket.close(linger=LINGER)
            if listener.endpoint.startswith("ipc://"):
                Path(listener.endpoint.removeprefix("ipc://")).unlink(missing_ok=True)
        self._gossip.close()
        self._watch.close()
        if self._zap is not None:
            self._zap.close()
        self._lifetime.terminate()
        self._endpoints.clear()

    # --- reading --------------------------------------------------------------------------------------

    def _router_readable(self, number: int) -> None:
        if self._closed:
            return
        listener = self._routers[number]
        socket = listener.socket
        self._again.discard(socket)
        for _ in turn():
            if not readable(socket):  # arms the descriptor for further messages
                self._watch.emptied.add(listener.endpoint)
                break
            key = (number, socket.recv(NOBLOCK))
            self._received(key, self._frames(listener, key))
        else:
            self._look_again(socket, lambda: self._router_readable(number))
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
            self._watch.note_read(number, frames, listener.keyed)

    def _over(self, key: Inbound | None) -> None:
        if key is not None:
            self._lose(key)

    def _read_waiting(self) -> None:
        """Read waiting messages, at least one of each connection: ZeroMQ reads them in turn."""
        for number, listener in self._routers.items():
            for _ in range(2 + len(self._arrivals.places) // TURN):
                if self._closed or not readable(listener.socket):
                    break
                self._router_readable(number)

    def _dealer_readable(self, key: Key) -> None:
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
                self._look_again(socket, lambda: self._dealer_readable(key))
        self._idle()

    def _monitor_readable(self, key: Key) -> None:
        events = drain(self._dialled[key][1]) if key in self._dialled else []
        if not events:
            return
        while key in self._dialled and readable(self._dialled[key][0]):
            self._dealer_readable(key)  # its last messages first
        if key in self._dialled:
            is_keyed = self._dialled[key][0].getsockopt(zmq.MECHANISM) == zmq.CURVE
            if (error := failure(events, is_keyed)) is not None:
                self._failed(key, error)
        self._lose(key)

    def _look_again(self, socket: Socket, look: Callable[[], None]) -> None:
        # The descriptor reports only changes, not messages that wait after a send or recv.
        if socket not in self._again and readable(socket):
            self._again.add(socket)
            self._loop.call_soon(look)

    def _lose(self, key: Key) -> None:
        """Report the loss in the next turn: the core must not be called from within its own effects."""
        if not self._lost:
            self._loop.call_soon(self._tell_lost)
        self._lost.append(key)

    def _tell_lost(self) -> None:
        lost, self._lost = self._lost, []
        if any(isinstance(key, tuple) for key in lost):
            self._read_waiting()  # last messages first: a BYE may wait
        for key in dict.fromkeys(lost):
            self.hang_up(key)
            if not self._closed:
                self._gone(key)
        self._idle()


def refusal(address: str, error: zmq.ZMQError, has_keys: bool) -> BindRefused:
    """Return the error for an address that cannot be bound. With keys a node binds two ports."""
    port = address.rpartition(":")[2]
    if address.startswith("ipc://"):
        hint = "Check the permissions of its directory, and that the path is not too long."
    elif error.errno == errno.EACCES and port.isdecimal() and 0 < int(port) < 1024:
        hint = "Ports below 1024 may be reserved for the system: choose a higher port, or 0 for a free one."
    elif error.errno not in (errno.EADDRINUSE, errno.EACCES):
        hint = "Write tcp://127.0.0.1:PORT; port 0 selects a free one."
    elif has_keys:
        hint = (
            "Another node may use this port, or use it for gossip, as the node on the port below does. "
            "See `mesh ls`, or bind tcp://*:0 for a free port."
        )
    else:
        hint = "Another node may use this port. See `mesh ls`, or bind tcp://127.0.0.1:0 for a free port."
    return BindRefused(f"The address {address} cannot be bound: {zmq.strerror(error.errno or 0)}.", hint=hint)
