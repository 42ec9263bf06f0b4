"""Selects the nodes that support presence, and that answer in time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from math import inf

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.unresponsive_peers import UnresponsivePeers
from mesh.wire.limits import SERVICES


class Audience:
    """The other nodes, except those of releases without presence."""

    def __init__(self, nodes: Nodes, slow: UnresponsivePeers) -> None:
        self._nodes, self._slow = nodes, slow
        self._mute: dict[bytes, int] = {}  # boots of nodes without the feature

    def hears(self, peer: Peer, conn: Conn) -> bool:
        """Return whether the peer, which has logged in, supports presence; remember if it does not."""
        if SERVICES in conn.speaks:
            return True
        self._mute[peer.node.uuid] = peer.node.boot
        return False

    def is_mute(self, peer: Peer) -> bool:
        """Return whether the peer is known not to support presence."""
        return self._mute.get(peer.node.uuid) == peer.node.boot

    def awaited(self) -> Iterator[Peer]:
        """Yield the live nodes that may support presence, except slow ones."""
        for peer in self._nodes.askable():
            if peer.node.uuid not in self._slow and not self.is_mute(peer):
                yield peer

    def known(self, confirmed: Callable[[Peer], int]) -> float:
        """Return the version that all awaited nodes have confirmed, or infinity if no node is awaited."""
        return min(map(confirmed, self.awaited()), default=inf)

    def missed(self, confirmed: Callable[[Peer], int], versions: Collection[int]) -> None:
        """Record which awaited nodes have not confirmed the highest of the versions in time."""
        if versions:
            for peer in [peer for peer in self.awaited() if confirmed(peer) < max(versions)]:
                self._slow.waited_for(peer.node.uuid, CONFIRM)
