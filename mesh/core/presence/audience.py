"""Which nodes can be asked who serves what there, and are worth waiting for?"""

from __future__ import annotations

from collections.abc import Iterator

from mesh.core.desk.conn import Conn
from mesh.core.desk.settings import CONFIRM
from mesh.core.peers.peer import Peer
from mesh.core.ways.nodes import Nodes
from mesh.core.ways.slow import Slow
from mesh.wire.limits import SERVICES


class Audience:
    """The other nodes, without those of a release that knows nothing of this."""

    def __init__(self, nodes: Nodes, slow: Slow) -> None:
        self._nodes, self._slow = nodes, slow
        self._mute: dict[bytes, int] = {}  # nodes of such a release, and their boots

    def hears(self, peer: Peer, conn: Conn) -> bool:
        """A peer has logged in: does it know of this?"""
        if SERVICES in conn.speaks:
            return True
        self._mute[peer.node.uuid] = peer.node.boot
        return False

    def is_mute(self, peer: Peer) -> bool:
        """Is it known that it knows nothing of this?"""
        return self._mute.get(peer.node.uuid) == peer.node.boot

    def awaited(self) -> Iterator[Peer]:
        """Those who live, may know of this, and answer."""
        for peer in self._nodes.askable():
            if peer.node.uuid not in self._slow and not self.is_mute(peer):
                yield peer

    def missed(self, peers: list[Peer]) -> None:
        """These have not answered for as long as anybody is waited for."""
        for peer in peers:
            self._slow.waited_for(peer.node.uuid, CONFIRM)
