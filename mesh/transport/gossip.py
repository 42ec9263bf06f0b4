"""Sockets of gossip: one PUB, and one SUB for the PUBs of all other nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import zmq

from mesh.errors import BindRefused
from mesh.security.keys import Keys
from mesh.security.zap import GOSSIP
from mesh.transport.forked import Endpoints
from mesh.transport.handshakes import Doorman
from mesh.transport.options import (
    Socket,
    ZmqContext,
    descriptor,
    drain,
    guard,
    new_socket,
    readable,
    received,
    send_frames,
    unlock,
)
from mesh.transport.unfinished import PUB
from mesh.transport.watch import TrafficWatch

TOPIC = b"__sys__cluster.node.state"
KIB = 1024
# socket type: largest frame in bytes, maximum of queued messages
LIMITS = {zmq.PUB: (4 * KIB, 16), zmq.SUB: (512 * KIB, 16)}
REDIAL, REDIAL_MAX = 200, 2000  # ms between attempts to reach a PUB


class GossipSockets:
    """The sockets of gossip.

    `heard` receives the frames of each message; `idle` is called after a batch.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: ZmqContext,
        heard: Callable[[list[bytes]], None],
        idle: Callable[[], None],
        keys: Keys | None,
        watch: TrafficWatch,
        endpoints: Endpoints,
    ) -> None:
        self._loop, self._context, self._keys = loop, context, keys
        self._heard, self._idle = heard, idle
        self._watch = watch
        self._endpoints = endpoints
        self._pub: Socket | None = None
        self._doorman: Doorman | None = None
        self._file: Path | None = None
        self._sub: Socket | None = None
        self._listening: set[str] = set()
        self._taken: list[list[bytes]] = []  # messages that were read and not passed on yet

    def bind(self, address: str) -> str:
        """Bind the PUB and return its address.

        Raises: BindRefused over TCP without keys, zmq.ZMQError if binding fails.
        """
        is_file = address.startswith("ipc://")
        socket = self._new(zmq.PUB, address)
        if self._keys is not None and not is_file:
            guard(socket, self._keys.gossip, GOSSIP)
        elif not is_file:
            socket.close()
            raise BindRefused(
                f"{address} was not bound: without keys, any program that reaches it could read the gossip.",
                hint="Run `mesh init` or `mesh join`, and try again.",
                code="BIND_WITHOUT_KEYS",
            )
        doorman = None
        if not is_file:
            doorman = Doorman(
                self._loop, self._context, socket, _unheard, _unheard, _unheard, _unheard, self._watch, PUB
            )
        try:
            socket.bind(address)
        except zmq.ZMQError:
            if doorman is not None:
                doorman.close()
            socket.close()
            raise
        self._doorman = doorman
        if is_file:
            self._file = Path(address.removeprefix("ipc://"))
            self._file.chmod(0o600)
        self._pub = socket
        endpoint = socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._endpoints.add(endpoint, is_bound=True)
        return endpoint

    def publish(self, frames: list[bytes]) -> None:
        if self._pub is not None:
            send_frames(self._pub, frames)

    def listen(self, address: str) -> None:
        if address not in self._listening:
            self._endpoints.add(address)
            try:
                self._subscriber().connect(address)
            except (zmq.ZMQError, OSError):
                return  # a peer sent an invalid address, or no resources
            self._listening.add(address)

    def unlisten(self, address: str) -> None:
        if address in self._listening and self._sub is not None:
            self._listening.remove(address)
            # When asked whether a message waits, ZeroMQ takes its first frame. If its publisher disconnected
            # then, the rest would be lost, and the next read would abort the process (!_more in fq.cpp).
            if readable(self._sub):
                self._taken.append(received(self._sub))
                self._loop.call_soon(self._readable)
            self._sub.disconnect(address)

    def close(self) -> None:
        if self._sub is not None:
            self._loop.remove_reader(descriptor(self._sub))
            self._sub.close()
            self._sub = None
        if self._doorman is not None:
            self._doorman.close()
        if self._pub is not None:
            self._pub.close()
            self._pub = None
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _new(self, kind: zmq.SocketType, address: str) -> Socket:
        socket = new_socket(self._context, kind, address)
        frame, leaving = LIMITS[kind]
        for option, value in (
            (zmq.MAXMSGSIZE, frame),
            (zmq.SNDHWM, leaving),
            (zmq.RECONNECT_IVL, REDIAL),
            (zmq.RECONNECT_IVL_MAX, REDIAL_MAX),
        ):
            socket.setsockopt(option, value)
        return socket

    def _subscriber(self) -> Socket:
        if self._sub is None:
            self._sub = self._new(zmq.SUB, "")
            self._sub.setsockopt(zmq.IPV6, 1)  # one socket for both families
            self._sub.setsockopt(zmq.SUBSCRIBE, TOPIC)
            if self._keys is not None:
                unlock(self._sub, self._keys, self._keys.gossip.public)
            self._loop.add_reader(descriptor(self._sub), self._readable)
            self._loop.call_soon(self._readable)
        return self._sub

    def _readable(self) -> None:
        if self._sub is None:
            return
        messages, self._taken = [*self._taken, *drain(self._sub)], []
        for frames in messages:
            self._heard(frames)
        if self._sub is not None and readable(self._sub):  # events are not repeated for waiting messages
            self._loop.call_soon(self._readable)
        self._idle()


def _unheard(*_: object) -> None:
    """Ignore subscribers that connect, fail or disconnect."""
