"""Each node learns about others from their own introductions only."""

import msgspec
import pytest

from mesh.balancers.rack_affinity import RackAffinity
from mesh.kernel.peers.peer import Peer
from mesh.wire import commands as c
from mesh.wire.metadata import NOTHING, said
from tests.mesh.kernel.sharing.weighing import IDLE
from tests.mesh.kernel.stranger import Stranger
from tests.simulation import SimNetwork, SimNode

LIE = said({"rack": "lie"})


@pytest.fixture
def net() -> SimNetwork:
    return SimNetwork()


def peer(of: SimNode, name: str) -> Peer:
    found = of.core.parts.nodes.named(name)
    assert found is not None
    return found


def test_those_that_meet_tell_each_other_and_rumours_carry_nothing_of_it(net: SimNetwork) -> None:
    a, b = net.node("a", metadata={"rack": "r1"}), net.node("b", "a", metadata={"rack": "r2"})
    c_ = net.node("c", "b")
    net.until(lambda: all(len(node.alive) == 2 for node in (a, b, c_)))
    racks = {
        node.name: {n: dict(peer(node, n).metadata) for n in "abc" if n != node.name} for node in (a, b, c_)
    }
    assert racks == {
        "a": {"b": {"rack": "r2"}, "c": {}},
        "b": {"a": {"rack": "r1"}, "c": {}},
        "c": {"a": {"rack": "r1"}, "b": {"rack": "r2"}},
    }
    assert all(p.node.metadata == NOTHING for p in b.core.parts.neighbours.peers.values())


def test_a_node_that_comes_back_elsewhere_says_so(net: SimNetwork) -> None:
    a, b = net.node("a", metadata={"rack": "r1"}), net.node("b", "a")
    net.until(lambda: b.alive == {"a"} and a.alive == {"b"})
    a.metadata = said({"rack": "r9"})
    a.restart()
    net.until(lambda: peer(b, "a").metadata == {"rack": "r9"})


def test_a_choice_stays_in_the_rack(net: SimNetwork) -> None:
    racks = {"a": "r1", "b": "r2", "c": "r1"}
    for name, rack in racks.items():
        net.node(name, "a", metadata={"rack": rack})
    me = net.node("me", "a", metadata={"rack": "r1"}, balancer=RackAffinity(lambda: 0.5))
    net.until(lambda: me.alive == {"a", "b", "c"})
    nodes = me.core.parts.nodes
    assert {nodes.choose(("a", "b", "c"), None, "") for _ in range(9)} == {"a", "c"}
    assert nodes.choose(("b",), None, "") == "b"


@pytest.mark.parametrize("raw", [b"\x05", b"\x81\xa1a\x01", b"\x81\x80\x01", b"\xda\x08\x00" + b"a" * 2048])
@pytest.mark.parametrize("role", [c.NODE_CONTROL, c.NODE_DATA])
def test_hostile_metadata_cost_nobody_the_connection(net: SimNetwork, raw: bytes, role: str) -> None:
    a = net.node("a")
    net.run(3)
    stranger = Stranger(a)
    node = c.Introduction(b"S" * 16, "stranger", 1, "", metadata=msgspec.Raw(raw))
    stranger.as_node(role, node=node)
    net.run(1)
    assert any(isinstance(command, c.Welcome) for command in stranger.heard) and not stranger.is_gone
    assert peer(a, "stranger").metadata == {}


def test_nobody_speaks_for_another(net: SimNetwork) -> None:
    a, b = net.node("a", metadata={"rack": "r1"}), net.node("b", "a")
    net.until(lambda: b.alive == {"a"})
    stranger = Stranger(b)
    stranger.as_node(c.NODE_CONTROL)
    about = c.Introduction(a.uuid, "a", a.disk.boot, a.address, gossip=a.pub, metadata=LIE)
    stranger.say(c.Peers((about,)))
    stranger.say(c.Rumours((c.Rumour(about, 7, "alive"),)))
    net.run(3)
    assert b.alive >= {"a"} and not stranger.is_gone
    assert peer(b, "a").metadata == {"rack": "r1"} and peer(b, "a").node.metadata == NOTHING


def test_what_it_says_of_itself_is_its_own_load(net: SimNetwork) -> None:
    a = net.node("a", sample=lambda: IDLE)
    net.run(5)
    gossiping = a.core.parts.gossiping
    assert gossiping.mine is not None
    assert gossiping.load_of("a") == (gossiping.mine.load, 0.0, gossiping.mine.ram_free)
