"""Whom does this node ask how far it is from masters, and what have they said?"""

# Law 1: what a node has said counts as long as it lives, and is asked: it is told anew on each connection.
# Law 2: who has not said it after PATIENCE has no way.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mesh.core.desk.desk import Desk
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.ways.nodes import Nodes
from mesh.mapping.decision import Claim
from mesh.mapping.strata import NOWHERE, Distance, by_rules, closer, heard
from mesh.wire.commands import Follow, Strata, Stratum
from mesh.wire.limits import FOLLOWED, STRATA

PATIENCE = 1.0  # s that a way is waited for


@dataclass(slots=True)
class Followed:
    """A peer that this node asks, and what it has said."""

    asked: tuple[str, ...] | None = None  # None: it is to be asked on a connection that is new
    number: int = 0
    said: dict[str, Distance] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)  # when each domain was first asked for
    alone: float | None = None  # since when nothing connects us


class StrataFollowing:
    """All of them. `wants(at)`: then it is worth while to look again."""

    def __init__(
        self, desk: Desk, neighbours: Neighbours, nodes: Nodes, wants: Callable[[float], None]
    ) -> None:
        self._desk = desk
        self._neighbours = neighbours
        self._nodes = nodes
        self._wants = wants
        self.peers: dict[bytes, Followed] = {}

    def connected(self, peer: Peer) -> None:
        """It is asked anew for all that it was asked for."""
        if (followed := self.peers.get(peer.node.uuid)) is not None:
            followed.asked = None
            followed.since = dict.fromkeys(followed.since, self._desk.now)

    def lost(self, peer: Peer) -> None:
        self.peers.pop(peer.node.uuid, None)

    def ask(self, claims: Mapping[str, Sequence[Claim]]) -> None:
        """Have all that may be a way say theirs, in each domain with these claims."""
        wanted: dict[bytes, dict[str, None]] = {uuid: {} for uuid in self.peers}
        for domain, claimed in claims.items():
            for claim in closer(self._desk.me.name, claimed):
                peer = self._nodes.named(claim.node)
                if peer is not None and len(domains := wanted.setdefault(peer.node.uuid, {})) < FOLLOWED:
                    domains[domain] = None
        for uuid, domains in wanted.items():
            peer = self._neighbours.peers.get(uuid)
            if peer is not None and peer.alive:
                self._ask(peer, tuple(domains))

    def _ask(self, peer: Peer, domains: tuple[str, ...]) -> None:
        followed, now = self.peers.setdefault(peer.node.uuid, Followed()), self._desk.now
        followed.since = {domain: followed.since.get(domain, now) for domain in domains}
        followed.said = {domain: way for domain, way in followed.said.items() if domain in followed.since}
        conn = peer.control or peer.data
        if conn is not None and STRATA in conn.speaks and domains != followed.asked:
            followed.asked = domains
            self._desk.send(conn, Follow(domains))
        if not domains:
            del self.peers[peer.node.uuid]

    def says(self, peer: Peer, command: Strata) -> bool:
        """What it says of its ways; was it asked?"""
        followed = self.peers.get(peer.node.uuid)
        if followed is None or followed.asked is None or command.number <= followed.number:
            self._desk.count("unasked")  # or it is late
            return False
        followed.number = command.number
        for row in command.rows:
            self._take(peer, followed, row)
        return True

    def _take(self, peer: Peer, followed: Followed, row: Stratum) -> None:
        if row.domain not in followed.since:
            self._desk.count("unasked")
            return
        way = heard(peer.node.name, row.way, row.latency / 1e6)
        if way is None:
            self._desk.count("forged")
        followed.said[row.domain] = way or NOWHERE

    def way_of(self, domain: str, claim: Claim) -> Distance | None:
        """The way of somebody who has a claim, as he says, with the latency from here; None: he is yet to say
        it.
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
            return Distance(said.way, said.latency + peer.rtt / 2) if said.way else said
        conn = peer.control or peer.data
        if self._neighbours.is_crowd if conn is None else STRATA not in conn.speaks:
            return by_rules(claim, peer.rtt / 2)
        until = followed.since.get(domain, 0.0) + PATIENCE
        if self._desk.now >= until:
            return NOWHERE
        self._wants(until)
        return None

    def _is_alone(self, peer: Peer, followed: Followed) -> bool:
        """Others may say that it lives: but nothing has connected us for a while, where all are connected."""
        now = self._desk.now
        if peer.control or peer.data or self._neighbours.is_crowd:
            followed.alone = None
            return False
        if followed.alone is None:
            followed.alone = now
        if now < followed.alone + PATIENCE:
            self._wants(followed.alone + PATIENCE)
        return now >= followed.alone + PATIENCE
