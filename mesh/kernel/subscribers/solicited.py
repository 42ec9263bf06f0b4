"""Checks that a peer's items were requested; others are settled, but not delivered."""

from __future__ import annotations

from collections.abc import Callable

from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.upstream import Upstream
from mesh.wire.envelope import Envelope

# An unrequested item does not close the connection: its query may have ended meanwhile, and other
# items of the peer may be owed to subscribers.
GRACE = 60.0  # s for items that an earlier process requested
MASTERS = 4096  # masters whose logs one peer may relay


class Solicited:
    """Checks whether this node requested the items that peers send.

    `was_met(uuid)` returns whether an earlier process of this node knew that peer.
    """

    def __init__(self, context: NodeContext, demand: InterestSync, was_met: Callable[[bytes], bool]) -> None:
        self._context = context
        self._demand = demand
        self._was_met = was_met

    def logged_in(self, peer: Peer) -> None:
        if peer.exchange.first_login is None:
            peer.exchange.first_login = self._context.clock.now

    def _is_way(self, peer: Peer) -> bool:
        return peer.exchange.is_way or (self._demand.has_ways and self.has_grace(peer))

    def has_grace(self, peer: Peer) -> bool:
        """Return whether a peer may still send items that an earlier process of this node requested."""
        since = peer.exchange.first_login
        return since is not None and self._context.clock.now - since < GRACE and self._was_met(peer.node.uuid)

    def admit_item(
        self, peer: Peer, master: bytes, position: int, envelope: Envelope, is_forged: bool
    ) -> Envelope | None:
        """Return the requested messages of an item, or settle the item and return `None`."""
        part = self.requested_part(peer, master, envelope) if not is_forged else None
        if part is None:
            if not is_forged:
                self._context.counters.add_count("unasked", envelope.count)
                self._report_unrequested(peer, envelope)
            self._settle(peer, master, position, envelope)
        return part

    def requested_part(self, peer: Peer, master: bytes, envelope: Envelope) -> Envelope | None:
        """Return the messages of an item that were requested from the peer, or `None`."""
        if master == self._context.me.uuid:
            return None  # a false position in our own log would make our items look old
        if master != peer.node.uuid and not self._is_way(peer):
            return None
        upstreams = peer.exchange.upstreams
        if len(upstreams) >= MASTERS and master not in upstreams:
            return None
        is_old = self.has_grace(peer)
        wanted = [
            self._demand.interests.is_asked(peer.node.uuid, key, envelope.domain, is_old, envelope.xml)
            for key in envelope.keys
        ]
        if all(wanted):
            return envelope
        rows = envelope.rows()
        indices = [i for i in range(envelope.count) if wanted[rows[i]]]
        return envelope.cut(indices) if indices else None

    def _settle(self, peer: Peer, master: bytes, position: int, envelope: Envelope) -> None:
        """Settle an item without a local receiver, as it would be resent forever otherwise."""
        x = peer.exchange
        if master == peer.node.uuid:
            x.upstreams.setdefault(master, Upstream())
        upstream = x.upstreams.get(master)
        if upstream is not None and position:
            stored = StoredEnvelope(envelope, position, master, source=peer.node.uuid)
            if upstream.record_envelope(stored):
                upstream.release_envelope(stored)
        elif position and (master in x.refused or len(x.refused) < MASTERS):
            x.refused[master] = max(position, x.refused.get(master, 0))

    def _report_unrequested(self, peer: Peer, envelope: Envelope) -> None:
        # While rules change, a peer may receive queries under the old rules and relay under the new ones.
        if self._demand.is_changing or not peer.exchange.unasked.allows(self._context.clock.now):
            return
        what = " ".join(filter(None, (envelope.keys[0][:80], envelope.domain[:80])))
        text = f"{peer.node.name} sends {what!r}, which this node did not request; it is dropped"
        self._context.event("refused", text, peer.node, level="warning")
