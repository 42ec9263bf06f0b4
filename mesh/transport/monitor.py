"""The events of one ZeroMQ socket, as they happen."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable

import zmq

from mesh.transport.options import TURN, Socket, ZmqContext, descriptor, readable, received

# Most events in one read. More are pending only if new events arrive as fast as they are read.
ALL = 100_000


class Monitor:
    """A monitor of a bound socket: `note(event, value)` gets the requested `events`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: ZmqContext,
        watched: Socket,
        events: int,
        note: Callable[[int, int], None],
    ) -> None:
        self._loop, self._watched, self._note = loop, watched, note
        place = f"inproc://monitor-{id(watched):x}"
        watched.monitor(place, events)
        self._events = context.socket(zmq.PAIR)
        # No limit: otherwise ZeroMQ's own thread would wait for this reader, and with it each connection.
        self._events.setsockopt(zmq.RCVHWM, 0)
        self._events.connect(place)
        loop.add_reader(descriptor(self._events), self._readable)
        loop.call_soon(self._readable)
        self.is_closed = False

    def close(self) -> None:
        """Close the monitor. The watched socket must still be open."""
        self.is_closed = True
        self._loop.remove_reader(descriptor(self._events))
        self._watched.disable_monitor()
        self._events.close()

    def _readable(self) -> None:
        if self.is_closed:
            return
        self._read(TURN)
        if not self.is_closed and readable(self._events):  # events are not repeated for waiting messages
            self._loop.call_soon(self._readable)

    def catch_up(self) -> None:
        self._read(ALL)

    def _read(self, most: int) -> None:
        for _ in range(most):
            if self.is_closed or not readable(self._events):
                return
            self._note(*event_of(received(self._events)))


def event_of(frames: list[bytes]) -> tuple[int, int]:
    """Return (event, value) of a monitor's message."""
    event, value = struct.unpack("=HI", frames[0][:6])
    return event, value
