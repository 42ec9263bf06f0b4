"""Settles stored envelopes with their source when no subscriber here needs them any longer."""

from __future__ import annotations

from collections.abc import Callable

from mesh.kernel.peers.peer import Peer
from mesh.mapping.mapping import Mapping
from mesh.routing.merging import Merging
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stored_envelope import StoredEnvelope


class FeedSettling:
    """Deletes released envelopes of this node, and settles others with the peer that sent them.

    Peers in `acking` are owed an acknowledgement. `merging` has the repeats that several masters or gateways
    have sent. `knows_sites` means that other sites may send messages.
    """

    def __init__(
        self,
        shelf: StoreHandle,
        mapping: Mapping,
        merging: Merging,
        peers: dict[bytes, Peer],
        knows_sites: bool = False,
    ) -> None:
        self.acking: dict[Peer, None] = {}
        self._shelf = shelf
        self._mapping = mapping
        self._merging = merging
        self._knows_sites = knows_sites
        self._peers = peers
        self.resumed: dict[bytes, Callable[[StoredEnvelope], None]] = {}  # by source: of resumed logs

    @property
    def merges(self) -> bool:
        """True if several masters, relays or gateways may send the same message."""
        return self._mapping.has_several or self._mapping.has_parts or self._knows_sites

    def on_released(self, stored: StoredEnvelope) -> None:
        """Shrink, delete or settle an envelope of which a subscriber has released some or all messages."""
        if stored.own and stored.owed:
            self._shelf.shrink(stored)
        elif stored.own:
            self._shelf.delete_released(stored)
        elif (peer := self._peers.get(stored.source)) is not None:
            self.settle(peer, stored)
        elif (settle := self.resumed.get(stored.source)) is not None:  # otherwise forgotten
            settle(stored)

    def settle(self, peer: Peer, stored: StoredEnvelope) -> None:
        """Settle an envelope with the peer that sent it, and each repeat with the sender of the repeat."""
        if peer.exchange.upstreams[stored.master].release_envelope(stored):
            self.acking[peer] = None
        for repeat in self._merging.settle_duplicates(stored) if self._merging.has_open else ():
            other = self._peers.get(repeat.source)
            if other is not None:
                self.settle(other, repeat)
