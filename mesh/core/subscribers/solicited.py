"""Was what a peer brings asked of it? What was not is taken off the link, settled, and goes to nobody."""

from __future__ import annotations

from collections.abc import Callable

from mesh.core.asking.demand import Demand
from mesh.core.desk.desk import Desk
from mesh.core.peers.peer import Peer
from mesh.routing.parcel import Parcel
from mesh.routing.upstream import Upstream
from mesh.wire.envelope import Envelope

# Nobody is hung up on for this: what was asked may be on its way when it is asked no more, and the rest of
# what such a peer brings may be owed to somebody.
GRACE = 60.0  # s after the first login of a peer: what the process before this one had asked of it may come
MASTERS = 4096  # whose logs one peer may bring
SAY_AGAIN = 600.0  # s until it is told again of a peer


class Solicited:
    """The check of what peers bring. `was_met(uuid)`: did an earlier process of this node know that peer?"""

    def __init__(self, desk: Desk, demand: Demand, was_met: Callable[[bytes], bool]) -> None:
        self._desk = desk
        self._demand = demand
        self._was_met = was_met

    def logged_in(self, peer: Peer) -> None:
        """Its data connection stands."""
        if peer.exchange.first_login is None:
            peer.exchange.first_login = self._desk.now

    def _is_way(self, peer: Peer) -> bool:
        """May it bring what another is master of?"""
        return peer.exchange.is_way or (self._demand.has_ways and self._has_grace(peer))

    def _has_grace(self, peer: Peer) -> bool:
        since = peer.exchange.first_login
        return since is not None and self._desk.now - since < GRACE and self._was_met(peer.node.uuid)

    def part(self, peer: Peer, master: bytes, envelope: Envelope) -> Envelope | None:
        """The messages of it that were asked of that peer; None: nothing."""
        if master == self._desk.me.uuid:
            return None  # handed on, a made-up place in our log would make what we send from it look old
        if master != peer.node.uuid and not self._is_way(peer):
            return None
        upstreams = peer.exchange.upstreams
        if len(upstreams) >= MASTERS and master not in upstreams:
            return None
        is_old = self._has_grace(peer)
        wanted = [
            self._demand.interests.is_asked(peer.node.uuid, key, envelope.domain, is_old, envelope.xml)
            for key in envelope.keys
        ]
        if all(wanted):
            return envelope
        rows = envelope.rows()
        indices = [i for i in range(envelope.count) if wanted[rows[i]]]
        return envelope.cut(indices) if indices else None

    def refuse(self, peer: Peer, master: bytes, position: int, envelope: Envelope) -> None:
        """Settle what nobody here gets, in that log and for whoever brings it: else it came for ever."""
        x = peer.exchange
        self._desk.count("unasked", envelope.count)
        if master == peer.node.uuid:
            x.upstreams.setdefault(master, Upstream())
        upstream = x.upstreams.get(master)
        if upstream is not None and position:
            parcel = Parcel(envelope, position, master, source=peer.node.uuid)
            if upstream.receive(parcel):
                upstream.release(parcel)
        elif position and (master in x.refused or len(x.refused) < MASTERS):
            x.refused[master] = max(position, x.refused.get(master, 0))
        self._tell(peer, envelope)

    def _tell(self, peer: Peer, envelope: Envelope) -> None:
        # While rules change, who is asked by those of before may be a way by the others.
        if self._demand.is_changing or self._desk.now - peer.exchange.unasked_told < SAY_AGAIN:
            return
        peer.exchange.unasked_told = self._desk.now
        what = " ".join(filter(None, (envelope.keys[0][:80], envelope.domain[:80])))
        text = f"{peer.node.name} sends {what!r}, which nobody here asked it for: it is dropped"
        self._desk.event("refused", text, peer.node, level="warning")
