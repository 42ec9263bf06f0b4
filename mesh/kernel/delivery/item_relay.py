"""Relays items of other masters to the subscribers of this node, and to peers that depend on this node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import dropwhile

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.cache import Cache
from mesh.kernel.delivery.deliveries import Deliveries
from mesh.routing.feed import Feed
from mesh.routing.pacing import ItemsOf
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.sink import Sink, Targets
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.subscriptions import SubscriptionIndex
from mesh.wire.envelope import SILENT, Envelope

Select = Callable[[Sink, tuple[int, ...] | None], tuple[int, ...]]

# Law 1: an item is sent to no node that it has passed since its master.
# Law 2: a subscription receives no item that its master had accepted before the subscription began.
# Law 3: no value of an earlier process of a master is cached if that process did not store it.


class ItemRelay:
    """The relayed items of other masters, the peers that receive them, and the cache of their values.

    `clients` are the subscriptions of this node's clients. `boot_of(master)` returns the boot of a node, 0 if
    unknown. `ttls_of` is that of the cache.
    """

    def __init__(
        self,
        context: NodeContext,
        clients: SubscriptionIndex[Feed],
        deliveries: Deliveries,
        boot_of: Callable[[bytes], int],
        keeps_cache: bool,
        ttls_of: Callable[[Envelope], Mapping[str, float]],
    ) -> None:
        self.peers = SubscriptionIndex[PeerFeed]()
        self.cache = Cache(context.settings.topics_bytes, ttls_of)
        self.keeps_cache = keeps_cache
        self._clients = clients
        self._offer = deliveries.offer_all
        self._boot_of = boot_of
        self._context = context

    def ruled(self, is_plain: bool) -> None:
        """Discard the cache, as new rules may change masters."""
        self.keeps_cache = not is_plain
        self.cache.empty()

    def relay(self, stored: StoredEnvelope, select: Select | None = None) -> None:
        """Deliver a peer's item to local subscribers, and to peers that receive it through this node.

        `select` returns which messages of a sink are delivered; `None` = all.
        """
        envelope = stored.envelope
        targets: Targets = [] if envelope.flags & SILENT else list(self._clients.plan(envelope))
        if stored.position:
            # A message resent after our restart is too old for a subscription that came later.
            targets = [(f, i) for f, i in targets if f.floors.get(stored.master, 0) < stored.position]
        if self.keeps_cache and self._is_void(stored):
            self.cache.empty()
        elif self.keeps_cache:
            self.cache.store_value(envelope, self._context.clock.now)
        targets += self._relay_targets(stored)
        if select is not None:
            chosen = ((sink, select(sink, indices)) for sink, indices in targets)
            targets = [(sink, indices) for sink, indices in chosen if indices]
        stored.owed = len(targets) if stored.position else 0
        self._context.counters.add_count("relayed", envelope.count)
        self._offer([(stored, targets)], ItemsOf(stored.source), lambda: None)

    def _relay_targets(self, stored: StoredEnvelope) -> Targets:
        """Return the peers that receive an item through this node, except the nodes on its route."""
        envelope = stored.envelope
        planned = list(self.peers.plan(envelope))
        if not planned:
            return []
        # Only hops since the master, at stratum 0: a node before it may have subscribers too.
        visited = {hop.node for hop in dropwhile(lambda hop: hop.stratum > 0, envelope.route)}
        return [(feed, i) for feed, i in planned if feed.owner not in visited and feed.is_due(stored)]

    def _is_void(self, stored: StoredEnvelope) -> bool:
        """Return whether an item comes from an earlier process of its master that did not store it.

        In that case, only the master knows the latest value.
        """
        return not stored.position and 0 < stored.boot < self._boot_of(stored.master)
