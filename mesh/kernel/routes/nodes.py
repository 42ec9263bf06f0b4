"""The other nodes by name: which may be linked, which can be asked, and how each is reached."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import islice

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.reach import LIVING
from mesh.kernel.peers.standing import SHOWN, names_of, of_node, of_strangers, standing
from mesh.kernel.routes.balancing import Balancing
from mesh.kernel.routes.node_locator import NodeLocator
from mesh.kernel.routes.peer_calls import PeerCalls
from mesh.links.table import LinkState
from mesh.reasons.what import ADDRESS, NODE, TOPIC, What
from mesh.wire.replies import Reason


class Nodes:
    """The other nodes by name, for the mapping and for questions.

    A node in the membership is not necessarily known: with links="configured" only named nodes are, and nodes
    that have linked themselves to this one.
    """

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, questions: PeerCalls, balancing: Balancing
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._named = frozenset(context.settings.known)
        self._is_open = context.settings.links == "any"
        self.whereabouts = NodeLocator(context, questions, self)
        self._balancing = balancing

    def named(self, node: str) -> Peer | None:
        return self._neighbours.named(node)

    def is_named(self, node: str) -> bool:
        """Return whether links with the node are allowed, by the settings and the rules of the mesh."""
        return (self._is_open or node in self._named) and not self._context.denies(node)

    def is_known(self, node: str) -> bool:
        """Return whether the node is configured, may be linked, or is linked now."""
        peer = self.named(node)
        return node in self._named or (peer is not None and self.is_usable(peer))

    def is_alive(self, node: str) -> bool:
        """Return whether the node can be asked now."""
        peer = self.named(node)
        return peer is not None and self.is_usable(peer) and _answers(peer)

    def is_settled(self) -> bool:
        """Return whether this node has had time to meet all live nodes."""
        return self._neighbours.is_settled()

    def count_alive(self) -> int:
        """Return the number of nodes that can be asked now, this node included."""
        return 1 + sum(map(_answers, self.usable()))

    def is_usable(self, peer: Peer) -> bool:
        """Return whether the peer may be linked, or is linked now and not denied by the rules."""
        name = peer.node.name
        return self.is_named(name) or (peer.data is not None and not self._context.denies(name))

    def usable(self) -> list[Peer]:
        """Return all peers that may be linked or are linked now, alive or not."""
        return [peer for peer in self._neighbours.peers.values() if self.is_usable(peer)]

    def unlinked(self) -> list[str]:
        """Return the names of live nodes that neither are nor may be linked.

        No messages move between these nodes and this one.
        """
        living = (peer for peer in self._neighbours.peers.values() if peer.reach.state in LIVING)
        return sorted(peer.node.name for peer in living if not self.is_usable(peer))

    def unasked(self) -> list[str]:
        """Return the names of live nodes that cannot be asked."""
        living = (peer for peer in self._neighbours.peers.values() if peer.reach.state in LIVING)
        return sorted(peer.node.name for peer in living if not self.is_alive(peer.node.name))

    def away(self) -> list[Peer]:
        """Return the peers that may be linked and are not present: dead, stopped, or not met yet."""
        return [peer for peer in self.usable() if self.is_away(peer)]

    def is_away(self, peer: Peer) -> bool:
        """Return whether the peer is dead, stopped, or not met yet."""
        return peer.reach.state not in LIVING

    def askable(self, visited: Collection[str] = ()) -> list[Peer]:
        """Return the peers that can be asked now, except those in `visited`."""
        names = ((peer, peer.node.name) for peer in self.usable())
        return [peer for peer, name in names if name not in visited and self.is_alive(name)]

    @property
    def named_ones(self) -> frozenset[str]:
        """The configured nodes."""
        return self._named

    def set_configured(self, known: Iterable[str]) -> None:
        """Set the configured nodes."""
        self._named = frozenset(known)

    @property
    def is_open(self) -> bool:
        """Whether the settings allow links with all nodes."""
        return self._is_open

    def standing(self, node: str) -> Reason:
        """Return the state of the node as a reason: why it cannot be asked, or that it can."""
        peer = self.named(node)
        member = self._neighbours.membership.by_name(node)
        return standing(self._context, member, peer, node, peer is not None and self.is_usable(peer))

    def why(self, what: What) -> Iterator[Reason]:
        """Yield the state of a node, or for other subjects the nodes that cannot be asked."""
        if what.kind == NODE:
            if what.text != self._context.me.name:
                yield self.standing(what.text)
            yield from of_node(self._context, self._neighbours, what.text)
        elif what.is_start:
            names = (name for name in names_of(self._neighbours) if name != self._context.me.name)
            standings = (self.standing(name) for name in names)
            yield from islice((each for each in standings if is_to_blame(each, what.kind)), SHOWN)
            yield from of_strangers(self._context, self._neighbours)

    def choose(self, nodes: Sequence[str], of: Hashable, domain: str) -> str:
        """Choose one of several equivalent nodes (see `Balancing.choose`)."""
        return self._balancing.choose(nodes, of, domain)

    def way_to(self, node: str) -> str | None:
        """Return the neighbor through which a node is reached, or None if that is not known."""
        return self.whereabouts.way_to(node)

    def next_hop(self, node: str) -> Peer | None:
        """Return the peer to ask for something of a node: the node itself or a neighbor, or None.

        Other nodes are asked for an unknown route, so a later call may find it.
        """
        if self.is_alive(node):
            return self.named(node)
        way = self.way_to(node)
        if way is None:
            self.ask_way(node)
        return self.named(way) if way is not None else None

    def ask_way(self, node: str) -> bool:
        """Ask other nodes for the route to a node unless it is known; return whether it is still unknown."""
        return self.whereabouts.ask_nodes(node)


def _answers(peer: Peer) -> bool:
    # Inlined, because it is called for each envelope.
    return peer.reach.state in LIVING and peer.link.state is not LinkState.NOT_ALLOWED


def is_to_blame(standing: Reason, kind: str) -> bool:
    """Return whether the state of a node may keep something of that kind from arriving.

    A node that left on purpose has no subscribers and no services, but may have messages on its disk.
    """
    return standing.is_cause and not (standing.code == "NODE_LEFT" and kind in (TOPIC, ADDRESS))
