"""The queries of other nodes at this node, and the log positions from which they apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.records import FeedRecord, query_key, write_record
from mesh.kernel.delivery.router import Router
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.operations import Delete, Put
from mesh.wire.commands import Query

# Law 1: a query applies only to messages that this node accepts or receives after the query was added.
# Law 2: each query is stored, in a row of its own, until its peer no longer asks for it.
# Law 3: a query that was relayed to other masters stays relayed until it is dropped.


class PeerQueries:
    """Adds and drops the queries of peers, which select the messages that each peer is owed.

    `received()` returns the position up to which this node has each master's log.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        router: Router,
        neighbours: Neighbours,
        demand: InterestSync,
        received: Callable[[], Mapping[bytes, int]],
    ) -> None:
        self._context = context
        self._disk = disk
        self._router = router
        self._neighbours = neighbours
        self._demand = demand
        self._received = received

    def add(self, peer: Peer, queries: Iterable[Query]) -> None:
        """Add `queries` of a peer. They match messages that are accepted or received here from now on."""
        since = dict(self._received())
        place = self._router.shelf.next_position
        for query in queries:
            peer.exchange.feed.add_query(query, place, since)
            self._register(peer, query)
            self._store_query(peer, query)

    def _register(self, peer: Peer, query: Query) -> None:
        self._router.peers.add(peer.exchange.feed, query)
        self._relay(peer, query)

    def _relay(self, peer: Peer, query: Query) -> None:
        """Request a query from other masters on behalf of the peer, if this node relays it."""
        if self._demand.is_relayed(query):
            self._router.relays.add(peer.exchange.feed, query)
            self._demand.want(query, by=peer.node.uuid)
            peer.exchange.relayed.add(query)

    def on_rules(self) -> None:
        """Apply new rules, by which this node may have to relay further queries.

        Queries that were relayed before stay relayed, as items may still arrive.
        """
        for peer in list(self._neighbours.peers.values()):
            if peer.begun is not None:
                for query in list(peer.begun.feed.queries):
                    if query not in peer.begun.relayed:
                        self._relay(peer, query)

    def drop(self, peer: Peer, query: Query) -> None:
        peer.exchange.feed.unasked(query)
        self._delete("feed", query_key(peer.exchange.feed, query))
        self._router.peers.discard(peer.exchange.feed, query)
        if query in peer.exchange.relayed:
            peer.exchange.relayed.discard(query)
            self._router.relays.discard(peer.exchange.feed, query)
            self._demand.unwant(query, by=peer.node.uuid)

    def _store_query(self, peer: Peer, query: Query) -> None:
        key, record = (
            query_key(peer.exchange.feed, query),
            write_record(peer.node.name, peer.exchange.feed, query),
        )
        self._disk.later("feed", key, Put("feed", key, record))

    def _delete(self, table: str, key: bytes) -> None:
        self._disk.later(table, key, Delete(table, key))

    def drop_peer(self, peer: Peer) -> None:
        """Drop the queries of a peer that was disconnected for too long, and the messages owed to it."""
        for query in list(peer.exchange.feed.queries):
            self.drop(peer, query)
        peer.exchange.feed.clear()
        # If the same process comes back, it must not acknowledge earlier items.
        peer.exchange.outlet.restart()
        peer.exchange.feed.restart()
        self._delete("position", peer.exchange.feed.key)

    def restore_feed(self, peer: Peer, key: bytes, record: FeedRecord, position: bytes) -> None:
        record.put_into(peer.exchange.feed)
        for query, _ in record.queries:
            self._register(peer, query)
        if key == peer.exchange.feed.key:  # stored by an earlier release
            self._delete("feed", key)
            for query, _ in record.queries:
                self._store_query(peer, query)
        peer.exchange.feed.position = int.from_bytes(position)
        peer.exchange.feed.gone_since = self._context.clock.now
