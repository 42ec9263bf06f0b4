"""The admission of a new connection: what both ends wait for and learn."""

import pytest

from mesh.kernel.states.recall import WITHIN
from mesh.wire import commands as c
from mesh.wire.limits import DURABLE
from tests.mesh.kernel.hole import hole
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


@pytest.fixture
def a() -> SimNode:
    """A node that does not know whether its store is the newest, because no node answers it."""
    net = SimNetwork()
    net.bound["tcp://10.1.1.1:1"] = hole()
    node = SimNode(net, "a", (), {})
    node._seeds = ("tcp://10.1.1.1:1",)
    node.start()
    assert not node.core.parts.context.serves
    return node


def welcomes(stranger: Stranger) -> list[c.Welcome]:
    return [said for said in stranger.heard if isinstance(said, c.Welcome)]


def test_only_control_connections_of_nodes_are_let_in_before_the_node_knows_its_store(a: SimNode) -> None:
    control, data, client = Stranger(a), Stranger(a), Stranger(a)
    control.as_node(c.NODE_CONTROL)
    data.as_node()
    client.as_client(name="joe")
    assert [len(welcomes(each)) for each in (control, data, client)] == [1, 0, 0]
    a.net.run(WITHIN + 0.1)
    assert [len(welcomes(each)) for each in (control, data, client)] == [1, 1, 1]
    assert a.metric("sessions") == 1


def test_a_connection_that_ends_while_it_waits_is_not_let_in(a: SimNode) -> None:
    client = Stranger(a)
    client.as_client(name="joe")
    (conn,) = [conn for conn in a.core._conns.values() if not conn.dialled]
    a.core.parts.context.end_connection(conn)
    a.net.run(WITHIN + 0.1)
    assert a.core.parts.context.serves and a.metric("sessions") == 0


def test_a_node_is_told_of_all_other_nodes_with_its_welcome() -> None:
    node, other = SimNetwork(1).mesh("a", "b")
    newcomer = Stranger(node)
    newcomer.as_node(c.NODE_CONTROL, name="new")
    (welcome,) = welcomes(newcomer)
    assert welcome.node == node.core.parts.context.me
    assert [each.name for each in welcome.nodes] == [other.name]


def test_a_peer_is_known_by_what_its_latest_release_understands() -> None:
    a = SimNetwork().node("a")
    client_of(a)
    for speaks, version in (((DURABLE,), 2), ((), 1)):
        stranger = Stranger(a)
        stranger.as_node(c.NODE_CONTROL, boot=3 - version, versions=(1, version), speaks=speaks)
        (welcome,) = welcomes(stranger)
        peer = a.core.parts.neighbours.named("stranger")
        assert peer is not None
        assert (welcome.version, peer.version, DURABLE in peer.speaks) == (version, version, version == 2)
