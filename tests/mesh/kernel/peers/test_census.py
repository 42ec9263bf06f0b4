"""More nodes than can all be linked: how they meet, and how many messages that takes."""

from collections import Counter
from typing import Any

import pytest

from mesh.discovery.member import Rumour
from tests.mesh.kernel.crowd import all_know, crowd, now_and_then, see, started
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def said(net: SimNetwork, name: str) -> Counter[str]:
    """Return how often this node has sent each command."""
    return Counter(command for sender, _, command in net.seen if sender == name)


def heard(node: SimNode) -> int:
    return len(node.core.parts.gossiping.gossip.known)


@pytest.mark.slow
def test_in_a_crowd_connections_stay_few_and_everybody_is_known_to_everybody() -> None:
    net = SimNetwork()
    nodes = crowd(net, 36)
    now_and_then(net, lambda: all(heard(node) == 35 for node in nodes))
    now_and_then(net, lambda: max(node.metric("control_links") for node in nodes) < 35)
    nodes[7].kill()
    now_and_then(net, lambda: all("n7" not in node.alive for node in nodes if node.is_up))
    a, b = client_of(nodes[3]).connected(), client_of(nodes[33]).connected()
    subscription = b.subscribed("k")
    a.publish("k", b"far")
    net.until(lambda: subscription.contents == [b"far"], 30)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_newcomer_asks_one_for_all_greets_few_and_all_hear_of_it() -> None:
    net = SimNetwork()
    nodes = crowd(net, 40)
    net.is_watched = True
    newcomer = started(net, "new", "n0")
    net.until(lambda: len(newcomer.alive) == 40, 1)
    now_and_then(net, lambda: all_know([*nodes, newcomer]), 10)
    assert said(net, "new")["Census"] == 1
    assert said(net, "new")["Hello"] < 20


@pytest.mark.slow
def test_a_newcomer_whom_all_see_and_who_sees_all_does_not_meet_all() -> None:
    net = SimNetwork()
    nodes = crowd(net, 50)
    net.is_watched = True
    newcomer = started(net, "new")
    for node in nodes:
        see(newcomer, node)
        see(node, newcomer)
    now_and_then(net, lambda: all_know([*nodes, newcomer]), 10)
    assert said(net, "new")["Census"] == 1
    meetings = [pair for *pair, command in net.seen if command == "Welcome" and "new" in pair]
    assert len(meetings) < 20


@pytest.mark.slow
def test_who_missed_every_rumour_of_a_node_hears_its_state_and_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork()
    nodes = crowd(net, 36)
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
