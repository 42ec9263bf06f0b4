"""Dialing many addresses, most of which do not answer."""

import pytest

from mesh.discovery.member import NodeLife
from mesh.discovery.table import LASTS
from tests.mesh.kernel.crowd import all_know, crowd, now_and_then, see, started
from tests.mesh.kernel.hole import hole
from tests.simulation import SimNetwork, SimNode


def sight_the_gone(node: SimNode, count: int) -> None:
    """Let multicast DNS report many nodes that do not answer."""
    net, me = node.net, node.core.parts.context.me
    for i in range(count):
        address = f"tcp://10.1.{i // 200}.{i % 200}:7710"
        net.bound[address] = hole()
        gone = me.__class__(i.to_bytes(2) * 8, f"gone{i}", 1, address)
        node.core.advertised(gone, net.now, net.wall)
    node._carry_out_all()


def test_of_many_that_do_not_answer_a_few_are_dialled_at_a_time_and_who_does_answer_is_found() -> None:
    net = SimNetwork()
    node, other = started(net, "a"), started(net, "b")
    sight_the_gone(node, 100)
    see(node, other)
    for _ in range(600):
        net.run(0.1)
        assert sum(not c.is_open for c in node.core.parts.dialler.conns.values() if not c.closed) <= 33
        if node.alive:
            break
    assert node.alive == {"b"}


@pytest.mark.slow
def test_who_is_new_is_dialled_before_many_that_did_not_answer() -> None:
    net = SimNetwork()
    node, other = started(net, "a"), started(net, "b")
    sight_the_gone(node, 400)
    net.run(100)
    see(node, other)
    now_and_then(net, lambda: node.alive == {"b"}, 10)


def test_seeds_that_do_not_answer_keep_nobody_from_being_dialled() -> None:
    net = SimNetwork()
    node, other = started(net, "a"), started(net, "b")
    for i in range(100):
        address = f"tcp://10.1.1.{i}:7710"
        net.bound[address] = hole()
        node.core.parts.neighbours.acquaintances.add(address)
    node._carry_out_all()
    see(node, other)
    now_and_then(net, lambda: node.alive == {"b"}, 5)


@pytest.mark.slow
def test_the_second_address_of_a_stranger_is_dialled_in_a_crowd_too() -> None:
    net = SimNetwork()
    nodes = crowd(net, 34)
    stranger = started(net, "new")
    me = stranger.core.parts.context.me
    nodes[5].core.advertised(
        me.__class__(me.uuid, "new", 1, "tcp://10.1.1.1:1", (me.address,)), net.now, net.wall
    )
    nodes[5]._carry_out_all()
    now_and_then(net, lambda: all_know([*nodes, stranger]), 30)


def test_peers_that_are_forgotten_are_not_watched_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LASTS, NodeLife.LEFT, 60.0)
    net = SimNetwork()
    node = started(net, "a")
    for i in range(5):
        passer_by = net.node(f"b{i}", "a", remember=False)
        net.until(lambda passer_by=passer_by: bool(passer_by.alive))  # type: ignore[misc]
        passer_by.close()
    net.until(lambda: not node.core.parts.neighbours.peers, 300)
    assert not len(node.core.parts.dialler.watchlist)
