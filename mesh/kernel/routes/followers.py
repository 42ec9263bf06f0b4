"""The peers that follow this node's distances from masters, and the last report to each."""

# Law 1: a peer that asks receives everything, as earlier reports may be lost with a connection.
# Law 2: after that, a new route is reported immediately, and a new latency only now and then.

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.mapping.strata import Distance, is_news
from mesh.wire.commands import Follow, Strata, Stratum

EACH = 32  # rows in one message


@dataclass(slots=True)
class Follower:
    """A following peer, and the reports to it on this connection."""

    domains: dict[str, None]
    is_told: bool = False  # whether all known domains were reported once
    told: dict[str, Distance] = field(default_factory=dict)


class StrataFollowers:
    """The peers that follow this node, and the number of the last report, which grows until a restart."""

    def __init__(self, context: NodeContext, neighbours: Neighbours) -> None:
        self._context = context
        self._neighbours = neighbours
        self.peers: dict[bytes, Follower] = {}
        self._number = 0

    def set_followed(self, peer: Peer, command: Follow) -> None:
        """Set the domains that a peer follows.

        All of them are reported again. Without domains the peer stops following.
        """
        self.peers.pop(peer.node.uuid, None)
        if command.domains:
            self.peers[peer.node.uuid] = Follower(dict.fromkeys(command.domains))

    def drop_peer(self, peer: Peer) -> None:
        self.peers.pop(peer.node.uuid, None)

    def domains(self) -> Iterable[str]:
        """Yield the domains that are followed."""
        return (domain for follower in self.peers.values() for domain in follower.domains)

    def send_changes(self, ways: Mapping[str, Distance], changed: Collection[str], is_late: bool) -> None:
        """Send each peer the changes that are new to it.

        `is_late` includes changes of latencies.
        """
        for uuid, follower in self.peers.items():
            every = is_late or not follower.is_told
            domains = follower.domains if every else [d for d in changed if d in follower.domains]
            known = ((domain, ways[domain]) for domain in domains if domain in ways)
            news = {domain: way for domain, way in known if is_news(follower.told.get(domain), way, is_late)}
            follower.is_told = True
            if news and (peer := self._neighbours.peers.get(uuid)) is not None:
                self._send_strata(peer, follower, news)

    def _send_strata(self, peer: Peer, follower: Follower, news: dict[str, Distance]) -> None:
        conn, domains = peer.control or peer.data, list(news)
        for at in range(0, len(domains) if conn is not None else 0, EACH):
            part = {domain: news[domain] for domain in domains[at : at + EACH]}
            self._number += 1
            follower.told |= part
            rows = tuple(
                Stratum(domain, way.way, _micro(way.latency), way.masters) for domain, way in part.items()
            )
            self._context.out.send(conn, Strata(self._number, rows))


def _micro(seconds: float) -> int:
    return round(min(max(seconds, 0.0), 3600.0) * 1e6)
