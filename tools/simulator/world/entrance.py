"""Inbound connections as ZeroMQ has them: descriptors are reused, and events are read late."""

# Law 1: The system gives a connection the lowest free descriptor, and frees it when the connection ends.
# Law 2: The process reads the events of its listeners in order, up to LATE seconds later, or when it names a
# connection.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from itertools import count
from random import Random
from typing import Any, Protocol

from mesh.transport.inbound import Arrivals, Inbound, Place
from tools.simulator.world.network import End, Network, Pipe

LATE = 0.2  # s
LOWEST = 10  # descriptor


class Owner(End, Protocol):
    """A process, as its entrance knows it.

    `throws_out` is called with connections that count as closed.
    """

    def awake(self, what: Callable[[], None]) -> None: ...

    def throws_out(self, pipe: Pipe) -> None: ...

    def uses_again(self) -> None: ...


class Entrance:
    """The inbound connections of one process, as `mesh/transport/listeners.py` follows them."""

    def __init__(self, net: Network[Any], owner: Owner, dice: Random) -> None:
        self._net, self._owner, self._dice = net, owner, dice
        self._arrivals = Arrivals()
        self._pipes: dict[Inbound, Pipe] = {}
        self._places: dict[Inbound, Place] = {}
        self._open: set[Inbound] = set()
        self._unread: deque[tuple[bool, Place]] = deque()  # (is the end, descriptor)

    def entered(self, pipe: Pipe) -> None:
        """Give an accepted connection a descriptor."""
        key = routing_id(pipe)
        taken = {self._places[each] for each in self._open}
        place = next(place for place in ((0, number) for number in count(LOWEST)) if place not in taken)
        if (True, place) in self._unread:
            self._owner.uses_again()
        self._pipes[key], self._places[key] = pipe, place
        self._open.add(key)
        self._happened(False, place)

    def ended(self, pipe: Pipe) -> None:
        """Free the descriptor of a closed connection."""
        key = routing_id(pipe)
        if key in self._open:
            self._open.discard(key)
            self._happened(True, self._places[key])

    def spoke(self, pipe: Pipe) -> None:
        """Process the first message of a connection, which reveals its routing id."""
        key = routing_id(pipe)
        self._over(self._arrivals.spoke(key, self._places[key], self.catch_up))

    def hang_up(self, key: Hashable) -> None:
        """Close the connection `key`, which the core no longer uses."""
        for inbound, pipe in self._pipes.items():
            if pipe.keys[1] == key and self._arrivals.forget_connection(inbound) is not None:
                pipe.end(self._owner)

    def catch_up(self) -> None:
        while self._unread:
            has_ended, place = self._unread.popleft()
            self._over(self._arrivals.end_place(place) if has_ended else self._arrivals.accepted(place))

    def _happened(self, has_ended: bool, place: Place) -> None:
        self._unread.append((has_ended, place))
        self._net.after(self._dice.uniform(0.0, LATE), lambda: self._owner.awake(self.catch_up))

    def _over(self, key: Inbound | None) -> None:
        if key is not None:
            self._arrivals.forget_connection(key)
            self._owner.throws_out(self._pipes[key])


def routing_id(pipe: Pipe) -> Inbound:
    """Return the routing id that ZeroMQ would give a connection; later ones are higher."""
    return 0, b"\0" + pipe.number.to_bytes(4)
