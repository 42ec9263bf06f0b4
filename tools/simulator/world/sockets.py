"""The connections of a process, and the keys by which its core knows them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

from tools.simulator.world.network import Listener, Network, Pipe


class Owner(Listener, Protocol):
    """A process as its sockets use it."""

    pub: str

    def knocked(self, life: int, uuid: bytes, is_refused: bool) -> None: ...


class Sockets:
    """The connections of one process of a node."""

    def __init__(self, net: Network[Any], owner: Owner, life: int) -> None:
        self.came_in: dict[Hashable, Pipe] = {}
        self._net, self._owner, self._life = net, owner, life
        self._known: set[Hashable] = set()  # inbound connections that the core knows
        self._dialled: dict[Hashable, Pipe | None] = {}

    def dial(self, key: Hashable, address: str) -> None:
        self._dialled[key] = self._net.connect(self._owner, ("out", self._life, key), address)

    def hang_up(self, key: Hashable) -> None:
        self._known.discard(key)
        pipe = self._dialled.pop(key, None)
        if pipe is not None:
            pipe.end(self._owner)

    def forget(self, key: Hashable) -> None:
        self._known.discard(key)
        self._dialled.pop(key, None)

    def is_new(self, key: Hashable) -> bool:
        """Return whether the core does not know the inbound connection yet, and mark it as known."""
        was_known = key in self._known
        self._known.add(key)
        return not was_known

    def mine(self, key: Hashable) -> Hashable | None:
        """Return the core's key of a connection in use, or None."""
        match key:
            case ("out", life, number) if life == self._life and number in self._dialled:
                return number
            case ("in", _) if key in self._known:
                return key
        return None

    def pipe(self, key: Hashable) -> Pipe | None:
        return self._dialled.get(key) or self.came_in.get(key)

    def send(self, key: Hashable, frames: list[bytes]) -> None:
        """Send frames, or notify the core if the connection is closed."""
        pipe = self._dialled.get(key) or (self.came_in.get(key) if key in self._known else None)
        if pipe is not None and pipe.is_open:
            pipe.send(0 if key in self._dialled else 1, frames)
        else:
            outer = ("out", self._life, key) if key in self._dialled else key
            self._net.after(0.0, lambda: self._owner.on_closed(outer))

    def gossip(self, frames: list[bytes]) -> None:
        """Send frames to all reachable nodes that subscribed to this one."""
        net, mine = self._net, self._owner
        for node in net.nodes.values():
            if mine.pub in node.listening and net.passes(mine.name, node.name):
                wait = net.delay(mine.name, node.name)
                net.after(wait, lambda node=node: node.gossiped(frames))  # type: ignore[misc]

    def knock(self, uuid: bytes, address: str) -> None:
        """Report whether the machine at `address` refuses connections.

        The other machine's system answers even without a process, unless the wire is cut.
        """
        net, mine = self._net, self._owner
        place = next((n for n in net.nodes.values() if address in (n.address, n.ipc)), None)
        if place is None or not net.passes(mine.name, place.name):
            return
        wait = net.delay(mine.name, place.name)
        net.after(wait, lambda: mine.knocked(self._life, uuid, address not in net.bound))
