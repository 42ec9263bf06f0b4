"""A peer without a data connection costs a row, and no exchange."""

from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def begun(node: SimNode) -> set[str]:
    """Return the peers with which there is an exchange."""
    return {p.node.name for p in node.core.parts.neighbours.peers.values() if p.begun is not None}


def test_a_peer_has_an_exchange_when_it_is_spoken_to_over_the_data_connection_and_not_before() -> None:
    net = SimNetwork(1)
    a, b, c, d = net.mesh("a", "b", "c", "d")
    d.kill()
    net.run(30)  # d is dead by then, periodic work was done, and states were sent
    for node in (a, b, c):
        node.core.parts.context.figures()
        assert begun(node) == set()
    heard = client_of(a).connected().subscribed("k")
    client_of(b).connected().publish("k", b"1")
    net.until(lambda: heard.contents == [b"1"])
    assert (begun(a), begun(b), begun(c)) == ({"b", "c"}, {"a"}, {"a"})


def test_what_flows_is_kept_while_connections_come_and_go() -> None:
    net = SimNetwork(1)
    a, b = net.mesh("a", "b")
    heard = client_of(a).connected().subscribed("k")
    peer = b.core.parts.neighbours.peers[a.uuid]
    net.until(lambda: peer.data is not None)
    before = peer.begun
    net.break_all("a", "b")
    net.until(lambda: peer.data is None)
    client_of(b).connected().publish("k", b"1")
    net.until(lambda: heard.contents == [b"1"])
    assert before is not None and peer.begun is before
