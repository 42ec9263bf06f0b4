"""The states of nodes, as other nodes and clients read them."""

from mesh.discovery.state import Sample
from tests.mesh.kernel.rows import rows
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

IDLE = Sample(cpu=(90.0, 80.0), ram_free=12_000_000, ram_total=100_000_000)


def heard(node: SimNode) -> set[str]:
    return {known.state.name for known in node.core.parts.gossiping.gossip.known.values()}


def test_every_node_knows_how_every_other_is_doing() -> None:
    net = SimNetwork()
    a, _, c = net.mesh("a", "b", "c", sample=lambda: IDLE)
    net.until(lambda: heard(a) == {"b", "c"} and heard(c) == {"a", "b"}, 10)
    row = next(row for row in rows(a) if row["name"] == "b")
    assert row["cpu"] == 15 and row["ram_free"] == 12_000_000 and 0 <= row["state_age"] < 3
    assert [row["cpu"] for row in rows(a)] == [15, 15, 15]


def test_the_state_of_a_dead_node_goes() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", sample=lambda: IDLE)
    net.until(lambda: heard(a) == {"b"}, 10)
    b.kill()
    net.until(lambda: a.alive == set())
    assert heard(a) == set()


def test_clients_read_and_follow_the_states_as_xml() -> None:
    net = SimNetwork()
    a, _ = net.mesh("a", "b", sample=lambda: IDLE)
    net.until(lambda: heard(a) == {"b"}, 10)
    client = client_of(a).connected()
    subscription = client.subscribed("__sys__cluster.node.state[b]")
    everything = client.subscribed(pattern="#")
    net.run(9)
    contents = subscription.contents
    assert len(contents) in (4, 5, 6) and all(b"<clusternode id='b'" in c or b'id="b"' in c for c in contents)
    assert everything.contents == []


def test_a_node_whose_pub_cannot_be_heard_says_it_on_the_link() -> None:
    net = SimNetwork()
    a = net.node("a", sample=lambda: IDLE)
    b = net.node("b", "a", sample=lambda: IDLE)
    b.pub = "ipc:///run/nobody.listens.here"
    net.until(lambda: heard(a) == {"b"}, 30)
    assert heard(b) == {"a"} and a.core.parts.neighbours.peers[b.uuid].hears_us
    assert not b.core.parts.neighbours.peers[a.uuid].hears_us
    b.pub = a.listening.copy().pop()  # now its PUB can be received
    net.until(lambda: b.core.parts.neighbours.peers[a.uuid].hears_us, 30)
