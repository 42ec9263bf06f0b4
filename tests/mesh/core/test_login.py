"""Who opens the data connection, when both nodes have dialled each other at once?"""

from mesh.core.desk.effects import Dial
from tests.simulation import SimNetwork


def test_who_is_asked_to_dial_while_it_waits_for_the_other_to_dial_does() -> None:
    # Each has the control connection that the other one has dialled, and asks the other by it.
    net = SimNetwork(1)
    a, b = net.node("a"), net.node("b", "a")
    net.until(lambda: a.alive and b.alive)
    peer = next(
        peer
        for one, other in ((a, b), (b, a))
        if (peer := one.core.parts.neighbours.peers[other.uuid]).control and not peer.control.dialled
    )
    core = next(node.core for node in (a, b) if peer in node.core.parts.neighbours.peers.values())
    core.parts.dialler.apply(peer, peer.link.wanted(net.now))
    assert not [effect for effect in core.parts.desk.effects if isinstance(effect, Dial)], "it asks the other"
    core.parts.dialler.asked(peer)
    core.parts.dialler.asked(peer)
    (dial,) = (effect for effect in core.parts.desk.effects if isinstance(effect, Dial))
    assert dial.address == peer.node.address
