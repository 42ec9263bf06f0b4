"""The sockets of a node or a client, on one event loop, and their connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import zmq

from mesh.errors import BindRefused, Refused
from mesh.security.keys import Keys
from mesh.transport.forked import Endpoints
from mesh.transport.gossip import GossipSockets
from mesh.transport.guard import Allowance
from mesh.transport.inbound import Key
from mesh.transport.library import check_ours
from mesh.transport.lifetime import Lifetime
from mesh.transport.listeners import Listeners, refusal
from mesh.transport.outbound import OutboundConnections
from mesh.transport.zap import ZapHandler


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
        self._gone, self._idle, self._keys = gone, idle, keys
        self._zap = ZapHandler(loop, self._context, stranger) if keys and keys.server.secret else None
        self._endpoints = Endpoints()
        self._listeners = Listeners(
            loop, self._context, self._endpoints, came, received, idle, self._lose, stranger, left, allowance
        )
        self._watch = self._listeners.watch
        failed = failed or (lambda key, error: stranger(error.what))
        self._outbound = OutboundConnections(
            loop, self._context, self._endpoints, received, idle, self._lose, failed
        )
        self._gossip = GossipSockets(loop, self._context, heard, idle, keys, self._watch, self._endpoints)
        self._lost: list[Key] = []
        self._closed = False

    # --- inbound --------------------------------------------------------------------------------------

    def bind(self, address: str, trusted: bool) -> str:
        """Listen, and return the address with its real port. Raises: BindRefused.

        A trusted address is a file that only this user can open, without keys.
        """
        pair = None
        if self._keys is not None and not trusted:
            self._require_zap(address)
            pair = self._keys.server
        return self._listeners.bind(address, trusted, pair, self._keys is not None)

    def bind_pub(self, address: str) -> str:
        """Bind the PUB for `publish`, and return its address.

        Raises: BindRefused, if binding fails, or over TCP without keys.
        """
        if self._keys is not None:
            self._require_zap(address)
        try:
            return self._gossip.bind(address)
        except zmq.ZMQError as error:
            raise refusal(address, error, self._keys is not None) from error

    def proven(self, key: Key, user: str, is_node: bool) -> None:
        """Record that the connection `key` has sent a valid HELLO; `user` is its public CURVE key, or ""."""
        if self._zap is not None and user:
            self._zap.gate.mark_proven(user)
        if isinstance(key, tuple):
            self._listeners.proven(key, user, is_node)

    def _require_zap(self, address: str) -> None:
        # Not `assert`, which may be disabled.
        if self._zap is None or self._zap.closed:
            what = f"{address} was not bound, because nothing checks the keys of incoming connections."
            raise BindRefused(what, hint="Restart the node, and report this.", code="BIND_WITHOUT_KEYS")

    # --- outbound -------------------------------------------------------------------------------------

    def dial(self, key: Key, address: str, keys: Keys | None = None) -> None:
        """Open a connection with its own socket.

        `gone` is called when the connection ends or cannot be opened.
        """
        self._outbound.dial(key, address, keys or self._keys)

    def send(self, key: Key, frames: list[bytes]) -> None:
        """Send a message. A connection that cannot accept the message is lost."""
        if isinstance(key, tuple):
            self._listeners.send(key, frames)
        else:
            self._outbound.send(key, frames)

    def read_arrived(self, key: Key) -> None:
        """Read a dialed connection now, for a caller that blocks the event loop."""
        self._outbound.read_waiting(key)

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
        if isinstance(key, tuple):
            self._listeners.forget_connection(key)
        else:
            self._outbound.hang_up(key)

    def close(self) -> None:
        """Close all sockets, once. Messages just sent get a moment to leave."""
        if self._closed:
            return
        self._closed = True
        self._outbound.close()
        self._listeners.close()
        self._gossip.close()
        self._watch.close()
        if self._zap is not None:
            self._zap.close()
        self._lifetime.terminate()
        self._endpoints.clear()

    def _lose(self, key: Key) -> None:
        """Report the loss in the next turn: the core must not be called from within its own effects."""
        if not self._lost:
            self._loop.call_soon(self._tell_lost)
        self._lost.append(key)

    def _tell_lost(self) -> None:
        lost, self._lost = self._lost, []
        if any(isinstance(key, tuple) for key in lost):
            self._listeners.read_waiting()  # last messages first: a BYE may wait
        for key in dict.fromkeys(lost):
            self.hang_up(key)
            if not self._closed:
                self._gone(key)
        self._idle()
