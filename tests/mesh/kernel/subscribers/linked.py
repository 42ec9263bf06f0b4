"""Two nodes, of which one subscribes at the other."""

from typing import Any

from mesh.routing.interest import CLIENTS
from mesh.wire.commands import Interest, Query
from mesh.wire.frames import read
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def exact(first: int, last: int) -> tuple[Query, ...]:
    return tuple(Query("exact", f"sensors/{number}/temperature") for number in range(first, last))


def wants(b: SimNode, a: SimNode, queries: tuple[Query, ...]) -> None:
    """Let b want these queries of a for its clients, without sending that yet."""
    interests = b.core.parts.demand.interests
    for query in queries:
        interests.add(query, CLIENTS)
    interests.interest_of(a.uuid).change(add=queries)


class Linked:
    """Two nodes, of which b subscribes at a. Each INTEREST that b sends is kept."""

    def __init__(self, version: int = 2) -> None:
        self.net = SimNetwork()
        self.a, self.b = self.net.node("a"), self.net.node("b", "a", wire_version=version)
        self.heard = client_of(self.b).subscribed("k")
        self.publisher = client_of(self.a, "pub")
        self.said: list[tuple[int, Interest]] = []  # (bytes, command)
        self.net.until(lambda: "k" in self.wanted)
        send = self.b._send

        def kept(key: Any, frames: list[bytes]) -> None:
            if (frames[0][1:2]) == b"\x1e":
                command = read(frames)[0]
                assert isinstance(command, Interest)
                self.said.append((len(frames[0]), command))
            send(key, frames)

        self.b._send = kept  # type: ignore[method-assign]

    @property
    def peer(self) -> Any:
        """The node b, as a knows it."""
        return self.a.core.parts.neighbours.peers[self.b.uuid]

    @property
    def wanted(self) -> set[str]:
        peer = self.a.core.parts.neighbours.peers.get(self.b.uuid)
        return {query.text for query in peer.exchange.feed.queries} if peer is not None else set()

    @property
    def is_confirmed(self) -> bool:
        peer = self.b.core.parts.neighbours.peers[self.a.uuid]
        return peer.confirmed == self.b.core.parts.demand.interests.interest_of(self.a.uuid).version

    def goes_through(self, content: bytes) -> None:
        self.publisher.publish("k", content, persistent=True)
        self.net.until(lambda: self.heard.contents[-1:] == [content])


def saying_on(it: Linked, *parts: Interest) -> None:
    """Let a receive these parts of an INTEREST of b, and process each to its end."""
    wanted, peer = it.a.core.parts.wanted, it.peer
    for part in parts:
        wanted.interest(peer, part)
        while peer in wanted._line:
            wanted.tick()
