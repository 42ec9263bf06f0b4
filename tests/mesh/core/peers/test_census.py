"""More nodes than can all be linked: how they find each other, and what that costs each of them."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from discovery.member import Rumour
from discovery.state import Sample
from tests.mesh.core.hole import hole
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

pytestmark = pytest.mark.slow  # for its length

IDLE = Sample(cpu=(90.0, 80.0), ram_free=12_000_000, ram_total=100_000_000)


def crowd(net: SimNetwork, size: int) -> list[SimNode]:
    """So many that have met."""
    nodes: list[SimNode] = []
    for i in range(size):
        nodes.append(started(net, f"n{i}", *(("n0",) if i else ())))
        net.run(0.1)
    now_and_then(net, lambda: all_know(nodes))
    return nodes


def started(net: SimNetwork, name: str, *seeds: str) -> SimNode:
    return net.node(name, *seeds, remember=False, sample=lambda: IDLE)


def all_know(nodes: list[SimNode]) -> bool:
    return all(len(node.alive) == len(nodes) - 1 for node in nodes)


def now_and_then(net: SimNetwork, condition: Callable[[], bool], limit: int = 60) -> None:
    """As `until`, for what is dear to look at."""
    for _ in range(limit):
        net.run(1)
        if condition():
            return
    raise AssertionError(f"not within {limit} s of simulated time")


def said(net: SimNetwork, name: str) -> Counter[str]:
    """What this node has said, by command."""
    return Counter(command for sender, _, command in net.seen if sender == name)


def see(one: SimNode, other: SimNode) -> None:
    """Multicast DNS shows it."""
    one.core.advertised(other.core.parts.desk.me, one.net.now, one.net.wall)
    one._carry_out_all()


def heard(node: SimNode) -> int:
    return len(node.core.parts.gossiping.gossip.known)


def test_in_a_crowd_connections_stay_few_and_everybody_is_known_to_everybody() -> None:
    net = SimNetwork()
    nodes = crowd(net, 40)
    now_and_then(net, lambda: all(heard(node) == 39 for node in nodes))
    now_and_then(net, lambda: max(node.metric("control_links") for node in nodes) < 39)
    nodes[7].kill()
    now_and_then(net, lambda: all("n7" not in node.alive for node in nodes if node.is_up))
    a, b = client_of(nodes[3]).connected(), client_of(nodes[33]).connected()
    subscription = b.subscribed("k")
    a.publish("k", b"far")
    net.until(lambda: subscription.contents == [b"far"], 30)


def test_a_peer_for_which_time_matters_is_always_watched() -> None:
    net = SimNetwork(3)
    nodes = crowd(net, 34)
    client_of(nodes[3]).connected().subscribed("k")
    nodes[7].kill()
    for _ in range(40):
        net.run(0.5)
        for node in nodes:
            peers = node.core.parts.neighbours.peers.values()
            assert {p for p in peers if p.is_active} <= set(node.core.parts.dialler.watchlist.active())


def test_in_a_crowd_a_node_that_only_others_hear_of_is_let_in() -> None:
    net = SimNetwork(2)
    nodes = crowd(net, 34)
    lonely = started(net, "lonely")
    net.is_watched = True
    see(nodes[5], lonely)
    net.until(lambda: bool(lonely.alive), 5)
    net.run(0.1)
    assert said(net, "lonely")["Census"] == 1
    now_and_then(net, lambda: all_know([*nodes, lonely]), 15)


def test_a_newcomer_asks_one_for_all_greets_few_and_all_hear_of_it() -> None:
    net = SimNetwork()
    nodes = crowd(net, 50)
    net.is_watched = True
    newcomer = started(net, "new", "n0")
    net.until(lambda: len(newcomer.alive) == 50, 1)
    now_and_then(net, lambda: all_know([*nodes, newcomer]), 10)
    assert said(net, "new")["Census"] == 1
    assert said(net, "new")["Hello"] < 30


def test_a_newcomer_whom_all_see_and_who_sees_all_does_not_meet_all() -> None:
    net = SimNetwork()
    nodes = crowd(net, 70)
    net.is_watched = True
    newcomer = started(net, "new")
    for node in nodes:
        see(newcomer, node)
        see(node, newcomer)
    now_and_then(net, lambda: all_know([*nodes, newcomer]), 10)
    assert said(net, "new")["Census"] == 1
    meetings = [pair for *pair, command in net.seen if command == "Welcome" and "new" in pair]
    assert len(meetings) < 60


def test_who_missed_every_rumour_of_a_node_hears_its_state_and_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork()
    nodes = crowd(net, 40)
    deaf, newcomer = nodes[5], started(net, "new", "n0")
    net.cut("n5", "new")
    net.is_watched = True
    members: Any = deaf.core.parts.neighbours.membership
    said_before = members._said

    def heard_if_asked(by: bytes, rumours: tuple[Rumour, ...], *more: Any) -> Any:
        has_asked = said(net, "n5")["Census"]
        return said_before(by, tuple(r for r in rumours if has_asked or r.node.name != "new"), *more)

    monkeypatch.setattr(members, "_said", heard_if_asked)
    others = [node for node in [*nodes, newcomer] if node is not deaf]
    now_and_then(net, lambda: all("new" in node.alive for node in others[:-1]), 10)
    assert "new" not in deaf.alive
    now_and_then(net, lambda: "new" in deaf.alive)


def test_one_is_asked_in_a_second_unless_the_connection_of_the_answer_is_lost() -> None:
    net = SimNetwork(1)
    a, b, c = net.mesh("a", "b", "c")
    to_b, to_c = (a.core.parts.neighbours.peers[node.uuid].control for node in (b, c))
    assert to_b is not None and to_c is not None
    net.is_watched = True

    def asked() -> int:
        for conn in (to_b, to_c):
            a.core.parts.censuses.compare(conn, 100)
        a._carry_out_all()
        net.run(0.05)
        return said(net, "a")["Census"]

    assert (asked(), asked()) == (1, 1)
    net.break_all("a", "b")
    net.run(0.1)
    assert asked() == 2
    net.run(1.1)
    assert asked() == 3


def sight_the_gone(node: SimNode, count: int) -> None:
    """Multicast DNS shows many where nobody answers."""
    net, me = node.net, node.core.parts.desk.me
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


def test_the_second_address_of_a_stranger_is_dialled_in_a_crowd_too() -> None:
    net = SimNetwork()
    nodes = crowd(net, 34)
    stranger = started(net, "new")
    me = stranger.core.parts.desk.me
    nodes[5].core.advertised(
        me.__class__(me.uuid, "new", 1, "tcp://10.1.1.1:1", (me.address,)), net.now, net.wall
    )
    nodes[5]._carry_out_all()
    now_and_then(net, lambda: all_know([*nodes, stranger]), 30)


def test_peers_that_are_forgotten_are_not_watched_any_more() -> None:
    net = SimNetwork()
    node = started(net, "a")
    for i in range(5):
        passer_by = net.node(f"b{i}", "a", remember=False)
        net.until(lambda passer_by=passer_by: bool(passer_by.alive))  # type: ignore[misc]
        passer_by.close()
    net.run(90_000)
    assert not node.core.parts.neighbours.peers
    assert not len(node.core.parts.dialler.watchlist)
