"""Who must be asked for what is wanted here, by clients and by peers for whom this node is on the way?"""

from __future__ import annotations

from collections.abc import Callable

from mesh.core.desk import Desk
from mesh.core.nodes import Nodes
from mesh.core.peer import Peer
from mesh.mapping.decision import Sources, Use
from mesh.mapping.mapping import Mapping
from mesh.routing.interest import CLIENTS, Interests
from mesh.routing.merging import Merging
from mesh.wire.commands import Interest, Query


class Demand:
    """Follows clients, rules and membership; each difference is told to the peer that it concerns."""

    def __init__(self, desk: Desk, mapping: Mapping, nodes: Nodes) -> None:
        self.interests = Interests()
        self.merging = Merging(desk.me.name, mapping.masters)
        self._desk = desk
        self._mapping = mapping
        self._nodes = nodes
        self.peer: Callable[[bytes], Peer | None] = lambda uuid: None  # set by the node
        self.login: Callable[[Peer], None] = lambda peer: None

    @property
    def has_ways(self) -> bool:
        """May a node bring what another is master of?"""
        return not self._mapping.is_plain

    @property
    def has_several(self) -> bool:
        """May several masters bring the same?"""
        return self._mapping.has_several

    def want(self, query: Query, by: bytes = CLIENTS) -> None:
        """Somebody here wants it."""
        if self.interests.add(query, by):
            self._aim(query)

    def unwant(self, query: Query, by: bytes = CLIENTS) -> None:
        """Somebody here wants it no more."""
        if self.interests.discard(query, by):
            self._aim(query)

    def refresh(self) -> None:
        """Nodes have come or gone: are the right ones asked?"""
        for query in self.interests.queries():
            self._aim(query)

    def sources(self, query: Query, use: Use = Use.SUBSCRIBE) -> Sources:
        """Whom the rules name for it. Of several masters a GET names another one each time."""
        return self._mapping.sources(query.kind, query.text, query.domain, self._nodes, use)

    def targets(self, query: Query, by: set[bytes], named: Sources | None = None) -> set[bytes]:
        """The peers to be asked for it, when these want it; `named`: whom the rules name."""
        sources = named or self.sources(query)
        hops = {peer.node.uuid for hop in sources.hops if (peer := self._nodes.named(hop)) is not None}
        if len(by) == 1:
            hops -= by  # it would only ask us in turn
        if sources.everyone and CLIENTS in by:
            hops |= {peer.node.uuid for peer in self._nodes.usable()}
        return hops

    def is_relayed(self, query: Query) -> bool:
        """Is this node only on the way for it, so that it gets for others what it is not master of?"""
        return bool(self.sources(query).hops)

    def is_reachable(self, query: Query) -> bool:
        """Can all whom the rules name for it be asked?"""
        return not self.sources(query).away

    def full(self, peer: Peer) -> Interest:
        """All that is asked of a peer, with how far we are."""
        positions = tuple((master, u.received) for master, u in peer.upstreams.items() if u.received)
        return self.interests.full(peer.node.uuid, positions)

    def unconfirmed(self, uuids: set[bytes] | None = None) -> dict[bytes, int]:
        """Version that each of these peers (all, without) has yet to confirm, if it can be reached."""
        need = {}
        for peer in self._nodes.usable():
            asked = self.interests.asked(peer.node.uuid)
            wanted = asked.queries and (uuids is None or peer.node.uuid in uuids)
            if wanted and peer.confirmed < asked.version and self._nodes.is_alive(peer.node.name):
                need[peer.node.uuid] = asked.version
        return need

    def needs(self, peer: Peer) -> bool:
        """Is it asked for anything?"""
        return bool(self.interests.asked(peer.node.uuid).queries)

    def tick(self) -> None:
        self._tell(self.interests.sweep(self._desk.now, self._is_here))

    def _is_here(self, uuid: bytes) -> bool:
        peer = self.peer(uuid)
        return peer is not None and peer.data is not None

    def _aim(self, query: Query) -> None:
        targets = self.targets(query, self.interests.wanted_by(query))
        self._tell(self.interests.aim(query, targets, self._desk.now))

    def _tell(self, told: list[tuple[bytes, Interest]]) -> None:
        for uuid, interest in told:
            peer = self.peer(uuid)
            if peer is not None:
                self._desk.send(peer.data, interest)
                self.login(peer)
