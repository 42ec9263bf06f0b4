"""Who of those who dialled a socket of this user has gone? Told from ZeroMQ's own events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import zmq

from mesh.transport.handshakes import event_of
from mesh.transport.options import Context, Socket, descriptor, drain, readable


class Departures:
    """Watches a bound socket: `gone` gets the descriptor of each connection that has ended."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, context: Context, watched: Socket, gone: Callable[[int], None]
    ) -> None:
        self._loop, self._watched, self._gone = loop, watched, gone
        place = f"inproc://departures-{id(watched):x}"
        watched.monitor(place, zmq.EVENT_DISCONNECTED)
        self._events = context.socket(zmq.PAIR)
        self._events.setsockopt(zmq.RCVHWM, 0)  # no bound: ZeroMQ's own thread would wait for us
        self._events.connect(place)
        loop.add_reader(descriptor(self._events), self._readable)
        loop.call_soon(self._readable)
        self._closed = False

    def close(self) -> None:
        """To be called before the watched socket is closed."""
        self._closed = True
        self._loop.remove_reader(descriptor(self._events))
        self._watched.disable_monitor()
        self._events.close()

    def _readable(self) -> None:
        if self._closed:
            return
        for frames in drain(self._events):
            self._gone(event_of(frames)[1])
        if not self._closed and readable(self._events):  # nobody announces what is there already
            self._loop.call_soon(self._readable)
