"""The peers whose distances from masters this node follows, and their reports."""

# Law 1: a report is valid while its node lives and is followed. It is sent again on each connection.
# Law 2: a node that has not reported after PATIENCE has no route.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.mapping.decision import Claim
from mesh.mapping.strata import NOWHERE, Distance, by_rules, closer, heard
from mesh.wire.commands import Follow, Strata, Stratum
from mesh.wire.limits import FOLLOWED, STRATA

PATIENCE = 1.0  # s to wait for a report
NONE_ALSO: Mapping[str, Sequence[str]] = {}


@dataclass(slots=True)
class Followed:
    """A followed peer and its reports."""

    asked: tuple[str, ...] | None = None  # None: to be asked on a new connection
    number: int = 0
    said: dict[str, Distance] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)  # when each domain was first requested
    alone: float | None = None  # since when no connection exists


class StrataFollowing:
    """The peers that this node follows.

    `wants(at)` requests a new measurement at that time at the latest.
    """

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, nodes: Nodes, wants: Callable[[float], None]
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._nodes = nodes
        self._wants = wants
        self.peers: dict[bytes, Followed] = {}

    def ask_again(self, peer: Peer) -> None:
        """Make the next measurement ask the peer again, on its new connection."""
        if (followed := self.peers.get(peer.node.uuid)) is not None:
            followed.asked = None
            followed.since = dict.fromkeys(followed.since, self._context.clock.now)

    def drop_peer(self, peer: Peer) -> None:
        self.peers.pop(peer.node.uuid, None)

    def follow_claims(
        self, claims: Mapping[str, Sequence[Claim]], also: Mapping[str, Sequence[str]] = NONE_ALSO
    ) -> None:
        """Follow the nodes that may be on the route, for each domain in `claims`, and no others.

        `also` has further nodes, by domain. At most FOLLOWED domains are followed at one node.
        """
        wanted: dict[bytes, dict[str, None]] = {uuid: {} for uuid in self.peers}
        for domain, claimed in claims.items():
            nodes = (claim.node for claim in closer(self._context.me.name, claimed))
            for node in dict.fromkeys((*nodes, *also.get(domain, ()))):
                peer = self._nodes.named(node)
                if peer is not None and len(domains := wanted.setdefault(peer.node.uuid, {})) < FOLLOWED:
                    domains[domain] = None
        for uuid, domains in wanted.items():
            peer = self._neighbours.peers.get(uuid)
            if peer is not None and peer.alive:
                self._follow(peer, tuple(domains))

    def _follow(self, peer: Peer, domains: tuple[str, ...]) -> None:
        followed, now = self.peers.setdefault(peer.node.uuid, Followed()), self._context.clock.now
        followed.since = {domain: followed.since.get(domain, now) for domain in domains}
        followed.said = {domain: way for domain, way in followed.said.items() if domain in followed.since}
        conn = peer.control or peer.data
        if conn is not None and STRATA in conn.speaks and domains != followed.asked:
            followed.asked = domains
            self._context.out.send(conn, Follow(domains))
        if not domains:
            del self.peers[peer.node.uuid]

    def accept_report(self, peer: Peer, command: Strata) -> bool:
        """Accept a report, and return whether it was requested and is newer than the last one."""
        followed = self.peers.get(peer.node.uuid)
        if followed is None or followed.asked is None or command.number <= followed.number:
            self._context.counters.add_count("unasked")  # or late
            return False
        followed.number = command.number
        for row in command.rows:
            self._accept_stratum(peer, followed, row)
        return True

    def _accept_stratum(self, peer: Peer, followed: Followed, row: Stratum) -> None:
        if row.domain not in followed.since:
            self._context.counters.add_count("unasked")
            return
        way = heard(peer.node.name, row.way, row.latency / 1e6, row.masters)
        if way is None:
            self._context.counters.add_count("forged")
        followed.said[row.domain] = way or NOWHERE

    def way_of(self, domain: str, claim: Claim) -> Distance | None:
        """Return the reported route of a claiming node, with the latency from here; None while pending.

        A node that is unreachable, or has not reported in time, has no route (`NOWHERE`). The route of a node
        that cannot report follows from the rules.
        """
        peer = self._nodes.named(claim.node)
        if peer is None or not self._nodes.is_alive(claim.node):
            return NOWHERE
        followed = self.peers.get(peer.node.uuid)
        if followed is None:
            return None
        if self._is_alone(peer, followed):
            return NOWHERE
        if (said := followed.said.get(domain)) is not None:
            return replace(said, latency=said.latency + peer.rtt / 2) if said.way else said
        conn = peer.control or peer.data
        if self._neighbours.is_crowd if conn is None else STRATA not in conn.speaks:
            return by_rules(claim, peer.rtt / 2)
        until = followed.since.get(domain, 0.0) + PATIENCE
        if self._context.clock.now >= until:
            return NOWHERE
        self._wants(until)
        return None

    def _is_alone(self, peer: Peer, followed: Followed) -> bool:
        """Return whether a live peer has had no connection for a while, in a mesh where all connect."""
        now = self._context.clock.now
        if peer.control or peer.data or self._neighbours.is_crowd:
            followed.alone = None
            return False
        if followed.alone is None:
            followed.alone = now
        if now < followed.alone + PATIENCE:
            self._wants(followed.alone + PATIENCE)
        return now >= followed.alone + PATIENCE
