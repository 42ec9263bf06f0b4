"""The receivers of gaps that other nodes and sites report."""

from typing import Any
from unittest.mock import Mock

import pytest

from mesh.kernel.context.passing import mark, mark_of_site
from mesh.kernel.subscribers.facts import MissedFromSite
from mesh.kernel.subscribers.gap_reports import GapReports

LON, NYC = "weather/#", "stocks/#"  # accepted from each site


def site(pattern: str) -> Any:
    return Mock(may_reach=lambda query: query == pattern)


class Stage:
    """Peers a to d, and one session with a subscription for each query in `queries`."""

    def __init__(self, *queries: str, peers: str = LON) -> None:
        self.context: Any = Mock()
        self.context.settings.site.ways = {"LON": "LON", "PAR": "LON", "NYC": "NYC"}
        self.context.settings.site.accepting = {"LON": site(LON), "NYC": site(NYC)}
        self.feeds = {query: Mock(queries=[query]) for query in queries}
        self.peers = {name: self.peer(name, peers) for name in "abcd"}
        neighbours: Any = Mock(peers={name.encode(): peer for name, peer in self.peers.items()})
        sessions: Any = Mock(by_stream={b"joe": Mock(feeds=self.feeds)})
        self.reports = GapReports(self.context, neighbours, sessions)

    @staticmethod
    def peer(name: str, query: str) -> Any:
        peer: Any = Mock()
        peer.node.uuid = name.encode()
        peer.begun.relayed = peer.begun.feed.queries = [query]
        peer.begun.outlet.passed_on = {}
        return peer

    def told(self) -> dict[str, dict[tuple[int, ...], int]]:
        return {name: p.begun.outlet.passed_on for name, p in self.peers.items() if p.begun is not None}

    def missed(self) -> dict[str, int]:
        return {q: feed.missed.call_args.args[0] for q, feed in self.feeds.items() if feed.missed.called}


def test_a_gap_goes_to_no_node_that_it_has_passed_and_not_back() -> None:
    stage = Stage("k")
    stage.reports.report_from_peer(stage.peers["a"], (mark(b"b"),), 7)
    path = (mark(b"b"), mark(b"a"))
    assert stage.told() == {"a": {}, "b": {}, "c": {path: 7}, "d": {path: 7}}
    assert stage.missed() == {"k": 7}


def test_a_peer_without_a_data_connection_yet_is_left_out() -> None:
    stage = Stage()
    stage.peers["c"].begun = None
    stage.reports.report_from_peer(stage.peers["a"], (), 1)
    assert {name for name, gaps in stage.told().items() if gaps} == {"b", "d"}


@pytest.mark.parametrize(
    ("neighbour", "concerned"), [("LON", {LON}), ("NYC", {NYC}), ("OSL", {LON, NYC, "k"})]
)
def test_a_gap_of_a_site_concerns_what_is_accepted_from_there(neighbour: str, concerned: set[str]) -> None:
    stage = Stage(LON, NYC, "k")
    stage.reports.report_from_site(MissedFromSite(neighbour, 3))
    assert stage.missed() == dict.fromkeys(concerned, 3)
    expected = {(mark_of_site(neighbour),): 3} if LON in concerned else {}
    assert all(gaps == expected for gaps in stage.told().values())


def test_such_a_gap_still_does_where_another_node_passes_it_on() -> None:
    stage = Stage(LON, NYC, "k", peers=NYC)
    stage.reports.report_from_peer(stage.peers["a"], (mark_of_site("LON"), mark(b"b")), 2)
    assert stage.missed() == {LON: 2}
    assert not any(stage.told().values()), "no peer has asked for those topics"
