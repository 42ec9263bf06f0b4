"""The directory of peers: by uuid, by name and by address."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mesh.kernel.context.conn import Conn
from mesh.kernel.peers.peer import Peer
from mesh.links.table import LinkState
from mesh.routing.feed import Feed
from mesh.wire.commands import Introduction


class Directory:
    """The known peers, with lookups by uuid, name and address.

    `peers` contains them by uuid. `made(node)` returns a new peer.
    """

    def __init__(self, peers: dict[bytes, Peer], made: Callable[[Introduction], Peer]) -> None:
        self.peers = peers
        self._made = made
        self._names: dict[str, Peer] | None = None
        self._occupied: set[str] | None = None
        self._living: list[Peer] | None = None

    def drop_caches(self) -> None:
        """Drop the cached lookups after a change of any peer."""
        self._names = self._occupied = self._living = None

    def get_or_add(self, uuid: bytes, name: str) -> Peer:
        """Return the peer of that uuid, added under `name` if it is unknown."""
        return self.peers.get(uuid) or self.add(Introduction(uuid, name, 0, ""))

    def add(self, node: Introduction) -> Peer:
        peer = self.peers[node.uuid] = self._made(node)
        return peer

    def remove_peer(self, peer: Peer) -> None:
        del self.peers[peer.node.uuid]

    def peer_of(self, conn: Conn) -> Peer | None:
        """Return the peer at the other end of `conn`, or `None` if that is no peer or `conn` was replaced."""
        return self.peers.get(conn.owner)

    def introduction(self, uuid: bytes) -> Introduction | None:
        """Return the introduction of that node, or `None` if it is no peer."""
        peer = self.peers.get(uuid)
        return peer.node if peer is not None else None

    def boot_of(self, uuid: bytes) -> int:
        """Return the boot of a node, or 0 if it is unknown."""
        node = self.introduction(uuid)
        return node.boot if node is not None else 0

    def peer_named(self, name: str) -> Peer | None:
        """Return the peer of that name, or `None`.

        If there are several, a live one is preferred, and then the one with the highest boot.
        """
        if self._names is None:
            ordered = sorted(self.peers.values(), key=lambda p: (p.alive, p.node.boot))
            self._names = {peer.node.name: peer for peer in ordered}
        return self._names.get(name)

    def living(self) -> list[Peer]:
        if self._living is None:
            self._living = [peer for peer in self.peers.values() if peer.alive]
        return self._living

    def askable(self) -> list[Peer]:
        """Return the peers that can be asked: alive, and not refused by either side."""
        return [peer for peer in self.living() if peer.link.state is not LinkState.NOT_ALLOWED]

    def is_alive(self, uuid: bytes) -> bool:
        return uuid in self.peers and self.peers[uuid].alive

    def is_occupied(self, address: str) -> bool:
        """Return whether a live node is at that address."""
        if self._occupied is None:
            living = self.living()
            self._occupied = {a for p in living for a in (p.reached, p.node.address, *p.node.also)}
        return address in self._occupied

    def feeds(self) -> Iterator[Feed]:
        return (begun.feed for peer in self.peers.values() if (begun := peer.begun) is not None)
