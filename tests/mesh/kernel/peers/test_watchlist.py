"""The peers that a node checks as time passes: few of many, and each in time."""

from typing import Any

import pytest

from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.reach_table import ReachState
from mesh.kernel.peers.watchlist import SPARE, Resting, Watchlist
from tests.mesh.kernel.hole import hole
from tests.simulation import SimNetwork, SimNode

MANY = 150


class Known:
    """The part of a peer that the watchlist needs."""

    def __init__(
        self, due: float, state: ReachState = ReachState.AWAY, address: str = "tcp://10.0.0.1:1"
    ) -> None:
        self.is_active = False
        self.reach: Any = type("Reach", (), {"due": due, "state": state})()
        self.node: Any = type("Node", (), {"address": address})()


def known(due: float, state: ReachState = ReachState.AWAY, address: str = "tcp://10.0.0.1:1") -> Any:
    return Known(due, state, address)


def watched(*peers: Peer) -> Watchlist:
    """Return a watchlist of peers that were active and are not now."""
    watchlist = Watchlist()
    for peer in peers:
        watchlist.add(peer)
    assert watchlist.active() == []
    return watchlist


def test_who_rests_is_taken_when_its_dial_is_due_the_earliest_first_and_once() -> None:
    late, early, first = known(3.0), known(2.0), known(1.0)
    watchlist = watched(late, early, first)
    assert watchlist.next_dial(False) == 1.0
    assert watchlist.take_due(2.5, 9, False) == [first, early]
    assert watchlist.take_due(2.5, 9, False) == []
    assert watchlist.next_dial(False) == 3.0


def test_news_are_taken_before_all_that_was_tried_in_vain() -> None:
    away, news = known(1.0), known(2.0, ReachState.TOLD_OF)
    assert watched(away, news).take_due(5.0, 1, False) == [news]
    assert watched(away, news).take_due(5.0, 2, False) == [news, away]
    assert watched(away).take_due(5.0, 0, False) == []


def test_in_a_crowd_only_news_are_taken() -> None:
    away, news = known(1.0), known(2.0, ReachState.TOLD_OF)
    watchlist = watched(away, news)
    assert watchlist.next_dial(is_crowd=True) == 2.0
    assert watchlist.take_due(5.0, 9, is_crowd=True) == [news]
    assert watchlist.take_due(5.0, 9, is_crowd=False) == [away]


@pytest.mark.parametrize("state", [ReachState.ALIVE, ReachState.SUSPECT, ReachState.LEFT])
def test_nobody_else_rests(state: ReachState) -> None:
    assert len(watched(known(1.0, state))) == 0
    assert len(watched(known(1.0, address=""))) == 0


def test_who_is_added_again_rests_no_more_and_then_until_its_new_time() -> None:
    peer = known(1.0)
    watchlist = watched(peer)
    watchlist.add(peer)
    peer.is_active = True
    assert watchlist.active() == [peer]
    assert watchlist.take_due(5.0, 9, False) == []
    peer.is_active, peer.reach.due = False, 7.0
    assert watchlist.active() == []
    assert watchlist.next_dial(False) == 7.0
    watchlist.remove_peer(peer)
    assert len(watchlist) == 0
    assert watchlist.take_due(9.0, 9, False) == []


def test_what_is_over_is_thrown_away_now_and_then() -> None:
    resting, peer = Resting(), known(1.0)
    for due in range(10 * SPARE):
        peer.reach.due = float(due)
        resting.add(peer)
    assert len(resting._order) <= SPARE + 3
    assert resting.take_due(1000.0, 9) == [peer]


def sight_the_gone(node: SimNode, count: int) -> None:
    """Let multicast DNS report many nodes that do not answer."""
    net, me = node.net, node.core.parts.context.me
    for i in range(1000, 1000 + count):
        address = f"tcp://10.1.{i // 200}.{i % 200}:7710"
        net.bound[address] = hole()
        gone = me.__class__(i.to_bytes(2) * 8, f"gone{i}", 1, address)
        node.core.advertised(gone, net.now, net.wall)
    node._carry_out_all()


def test_of_many_that_are_known_few_are_looked_at_in_a_round_and_all_are_dialled_in_turn() -> None:
    net = SimNetwork()
    node = net.node("a", remember=False)
    sight_the_gone(node, MANY)
    core = node.core
    peers = core.parts.neighbours.peers.values()
    assert len(peers) == MANY
    dialled: set[Peer] = set()
    for _ in range(1000):
        net.run(0.1)
        looked_at = core.parts.neighbours.rounds._looked_at()
        assert len(looked_at) <= 40
        dialled |= {peer for peer in looked_at if peer.dials["control"]}
        if len(dialled) == MANY:
            break
    assert len(dialled) == MANY


def test_a_node_wakes_when_the_next_of_those_that_rest_is_due() -> None:
    net = SimNetwork()
    node = net.node("a", remember=False)
    sight_the_gone(node, 1)
    rounds, (peer,) = node.core.parts.neighbours.rounds, node.core.parts.neighbours.peers.values()
    for _ in range(100):
        net.run(0.1)
        if not peer.is_active and peer not in rounds._looked_at():
            break
    peer.reach.due = net.now + 0.01
    node.core.parts.dialler.watchlist.add(peer)
    assert rounds._looked_at() == []
    assert rounds.deadline(is_settled=True) == peer.reach.due
