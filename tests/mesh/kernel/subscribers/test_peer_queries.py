"""The traces of other nodes' queries: in the router, in the demand, and on disk."""

from typing import Any
from unittest.mock import Mock

import pytest

from mesh.kernel.context.records import query_key, read_record
from mesh.kernel.subscribers.peer_queries import PeerQueries
from mesh.operations import Delete, Put
from mesh.routing.overflow import Credit
from mesh.routing.peerfeed import PeerFeed
from mesh.wire.commands import Query

UUID, MASTER = b"f" * 16, b"m" * 16
K, W = Query("exact", "k"), Query("exact", "weather")


class Stage:
    """A node that frodo queries. It relays the query `weather`."""

    def __init__(self) -> None:
        self.context, self.disk, self.router, self.demand = Mock(clock=Mock(now=5.0)), Mock(), Mock(), Mock()
        self.router.shelf.next_position = 40
        self.relays = ["weather"]
        self.demand.is_relayed.side_effect = lambda query: query.text in self.relays
        self.rows: dict[bytes, bytes] = {}
        self.disk.later.side_effect = self._later
        self.peer: Any = Mock()
        self.peer.node.uuid, self.peer.node.name = UUID, "frodo"
        send: Any = Mock()
        self.feed = PeerFeed(b"n" + UUID, Credit(100, 100, 100), send, send)
        self.peer.begun = self.peer.exchange
        self.peer.exchange.feed, self.peer.exchange.relayed = self.feed, set()
        neighbours: Any = Mock(peers={UUID: self.peer})
        self.queries = PeerQueries(
            self.context, self.disk, self.router, neighbours, self.demand, lambda: {MASTER: 9}
        )

    def _later(self, table: str, key: bytes, op: Any) -> None:
        if isinstance(op, Put):
            self.rows[table.encode() + key] = op.value
        else:
            assert isinstance(op, Delete)
            self.rows.pop(table.encode() + key, None)

    def stored(self) -> set[Query]:
        return {query for row in self.rows.values() for query, _ in read_record(row).queries}


def test_a_query_applies_to_what_comes_from_now_on() -> None:
    stage = Stage()
    stage.queries.add(stage.peer, (K, W))
    assert stage.feed.queries == {K: 40, W: 40}
    assert [call.args for call in stage.router.peers.add.call_args_list] == [(stage.feed, K), (stage.feed, W)]
    assert stage.stored() == {K, W}


def test_only_what_this_node_relays_is_requested_from_others() -> None:
    stage = Stage()
    stage.queries.add(stage.peer, (K, W))
    stage.router.relays.add.assert_called_once_with(stage.feed, W)
    stage.demand.want.assert_called_once_with(W, by=UUID)
    assert stage.peer.exchange.relayed == {W}


def test_new_rules_let_it_relay_more_and_never_less() -> None:
    stage = Stage()
    stage.queries.add(stage.peer, (K, W))
    stage.relays = ["k"]
    stage.queries.on_rules()
    stage.queries.on_rules()
    assert stage.peer.exchange.relayed == {K, W}
    assert [call.args for call in stage.demand.want.call_args_list] == [(W,), (K,)]


@pytest.mark.parametrize("query", [K, W])
def test_a_dropped_query_leaves_nothing(query: Query) -> None:
    stage = Stage()
    stage.queries.add(stage.peer, (query,))
    stage.queries.drop(stage.peer, query)
    assert not stage.feed.queries and not stage.rows and not stage.peer.exchange.relayed
    stage.router.peers.discard.assert_called_once_with(stage.feed, query)
    assert stage.demand.unwant.called is stage.router.relays.discard.called is (query is W)


def test_of_a_dropped_peer_nothing_is_left_and_its_items_start_again() -> None:
    stage = Stage()
    stage.queries.add(stage.peer, (K, W))
    stage.queries.drop_peer(stage.peer)
    assert not stage.feed.queries and not stage.rows
    assert stage.peer.exchange.outlet.restart.called


def test_queries_are_restored_with_the_position_of_their_feed() -> None:
    stage = Stage()
    stage.queries.add(stage.peer, (W,))
    ((key, row),) = stage.rows.items()
    again = Stage()
    again.queries.restore_feed(again.peer, key.removeprefix(b"feed"), read_record(row), (7).to_bytes(8))
    assert (again.feed.queries, again.feed.position, again.feed.gone_since) == ({W: 40}, 7, 5.0)
    assert again.peer.exchange.relayed == {W} and not again.rows, "it is still on disk"


def test_a_row_of_an_earlier_release_is_written_anew() -> None:
    stage = Stage()
    stage.queries.add(stage.peer, (K,))
    (row,) = stage.rows.values()
    again = Stage()
    again.queries.restore_feed(again.peer, again.feed.key, read_record(row), b"")
    assert [*again.rows] == [b"feed" + query_key(again.feed, K)]
