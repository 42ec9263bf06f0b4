"""A parcel that nobody here needs any more is settled with whoever brought it."""

from __future__ import annotations

from mesh.core.peers.peer import Peer
from mesh.mapping.mapping import Mapping
from mesh.routing.merging import Merging
from mesh.routing.parcel import Parcel
from mesh.routing.shelf import Shelf


class FeedSettling:
    """Peers in `acking` are owed an acknowledgement. `merging` knows what several masters have brought, and
    where there are other sites, what gateways have.
    """

    def __init__(
        self,
        shelf: Shelf,
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

    @property
    def merges(self) -> bool:
        """May one message come from several peers?"""
        return self._mapping.has_several or self._knows_sites

    def released(self, parcel: Parcel) -> None:
        """One of those that it was for is done with it."""
        if parcel.own and parcel.owed:
            self._shelf.thinned(parcel)
        elif parcel.own:
            self._shelf.released(parcel)
        elif (peer := self._peers.get(parcel.source)) is not None:  # else it was forgotten
            self.settle(peer, parcel)

    def settle(self, peer: Peer, parcel: Parcel) -> None:
        """Settle a parcel that this peer has brought and nobody here needs any more."""
        if peer.exchange.upstreams[parcel.master].release(parcel):
            self.acking[peer] = None
        for repeat in self._merging.released(parcel) if self.merges else ():
            other = self._peers.get(repeat.source)
            if other is not None:
                self.settle(other, repeat)
