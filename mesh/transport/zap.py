"""ZAP handler: answers ZeroMQ's admission requests immediately, on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import zmq

from mesh.security.zap import ZapGate
from mesh.transport.options import ZmqContext, descriptor, drain, new_socket, readable, send_frames

PLACE = "inproc://zeromq.zap.01"  # required by ZeroMQ, in the same context
OVERHEAD = 2  # frames before a request: of both sockets


class ZapHandler:
    """Answers ZAP requests. `denied` gets a line for each refusal.

    After `close`, ZeroMQ admits no connection to a socket with keys.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, context: ZmqContext, denied: Callable[[str], None]
    ) -> None:
        self.gate = ZapGate()
        self.closed = False
        self._loop = loop
        self._denied = denied
        self._socket = new_socket(context, zmq.ROUTER, PLACE)
        self._socket.bind(PLACE)
        loop.add_reader(descriptor(self._socket), self._readable)
        loop.call_soon(self._readable)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(descriptor(self._socket))
            self._socket.close()

    def _readable(self) -> None:
        if self.closed:
            return
        for frames in drain(self._socket):
            self._reply_verdict(frames[:OVERHEAD], frames[OVERHEAD:])
        if readable(self._socket):  # events are not repeated for waiting messages
            self._loop.call_soon(self._readable)

    def _reply_verdict(self, asker: list[bytes], request: list[bytes]) -> None:
        verdict = self.gate.verdict(request, self._loop.time())
        if verdict.status != b"200":
            where = f" from {verdict.address}" if verdict.address else ""
            self._denied(f"a connection{where} was refused: {verdict.text}")
        words = [b"1.0", *request[1:2], verdict.status, verdict.text.encode(), verdict.user.encode(), b""]
        send_frames(self._socket, asker + words)
