"""Connections to other nodes: which of two nodes dials, and how often."""

import pytest

from mesh.kernel.context.effects import Dial
from mesh.kernel.peers.facts import LoggedOut
from mesh.kernel.peers.peer import Peer
from mesh.wire.commands import NODE_CONTROL, NODE_DATA
from tests.mesh.kernel.hole import hole
from tests.seeds import scenarios
from tests.simulation import SimNetwork, SimNode


def asking(net: SimNetwork) -> tuple[SimNode, Peer]:
    """Return the one of two nodes that was dialed, and its peer, which dialed it.

    The node asks that peer to dial when it needs a data connection.
    """
    a, b = net.node("a"), net.node("b", "a")
    net.until(lambda: a.alive and b.alive)
    return next(
        (one, peer)
        for one, other in ((a, b), (b, a))
        if (peer := one.core.parts.neighbours.peers[other.uuid]).control and not peer.control.dialled
    )


def test_who_is_asked_to_dial_while_it_waits_for_the_other_to_dial_does() -> None:
    # Each has the control connection that the other one dialed, and asks the other over it.
    net = SimNetwork(1)
    one, peer = asking(net)
    core = one.core
    core.parts.dialler.apply(peer, peer.link.wanted(net.now))
    assert not [effect for effect in core.parts.context.out.effects if isinstance(effect, Dial)], (
        "it asks the other"
    )
    core.parts.dialler.on_data_requested(peer)
    core.parts.dialler.on_data_requested(peer)
    (dial,) = (effect for effect in core.parts.context.out.effects if isinstance(effect, Dial))
    assert dial.address == peer.node.address


def test_a_login_that_is_lost_with_the_control_connection_is_asked_again_on_the_next_one() -> None:
    net = SimNetwork(1)
    one, peer = asking(net)
    before = peer.control
    one.core.parts.dialler.apply(peer, peer.link.wanted(net.now))
    one._carry_out_all()
    net.break_all("a", "b")
    net.until(lambda: peer.data)
    assert peer.control is not before
    assert peer.link.attempt == 1, "no dial was in vain"


def test_who_waits_for_the_next_dial_waits_no_more_when_the_other_is_reached_anew() -> None:
    # After a cut that only the other node noticed to be long.
    net = SimNetwork(1)
    one, peer = asking(net)
    dialler, context = one.core.parts.dialler, one.core.parts.context
    dialler.apply(peer, peer.link.wanted(net.now))
    dialler.apply(peer, peer.link.disconnected(net.now))
    assert (peer.link.next_try or 0.0) > net.now
    context.out.effects.clear()
    dialler.reached(peer)
    assert peer.link.is_dialling
    assert context.out.effects, "it is asked to dial"


def test_nothing_is_asked_on_a_new_control_connection_by_who_has_asked_for_nothing_or_dials_itself() -> None:
    net = SimNetwork(1)
    one, peer = asking(net)
    dialler, context = one.core.parts.dialler, one.core.parts.context
    dialler.reached(peer)
    assert not context.out.effects, "not needed"
    dialler.apply(peer, peer.link.wanted(net.now))
    dialler.on_data_requested(peer)  # the peer needs it too
    context.out.effects.clear()
    dialler.reached(peer)
    assert not context.out.effects, "it dials itself"


def dialled(node: SimNode) -> int:
    return node.core.parts.dialler._dialled


@pytest.mark.parametrize("uuid", scenarios([b"\x01" * 16, b"\xf0" * 16]))
def test_a_seed_under_another_name_is_left_alone_while_its_node_is_there(uuid: bytes) -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    net.bound["tcp://b.lan:7710"] = b
    a.core.parts.neighbours.acquaintances.add("tcp://b.lan:7710")
    a._carry_out_all()
    net.run(5)
    before = dialled(a)
    net.run(200)
    assert dialled(a) <= before + 1 and a.alive == {"b"}
    b.kill()
    net.run(60)
    assert dialled(a) > before + 3


def test_who_has_left_is_not_dialled_and_who_died_less_and_less() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c", remember=False)
    b.close()
    net.run(60)
    before = dialled(a)
    net.run(100)
    assert dialled(a) == before
    c.kill()
    net.run(300)
    before = dialled(a)
    net.run(200)
    assert dialled(a) - before < 50  # ten a minute, with the retries of dead nodes


def test_where_only_one_of_two_can_dial_the_other_they_meet_at_once() -> None:
    for seed in range(6):
        net = SimNetwork(seed)
        low = SimNode(net, "low", (), {"uuid": b"\x01" * 16})
        low.start()
        net.run(1)
        high = SimNode(net, "high", (), {"uuid": b"\xf0" * 16})
        high.address = "tcp://10.0.0.9:7710"
        high.start()
        net.bound[high.address] = hole()
        for one, other in ((low, high), (high, low)):
            one.core.advertised(other.core.parts.context.me, net.now, net.wall)
            one._carry_out_all()
        net.until(lambda: bool(low.alive and high.alive), 3)  # noqa: B023


def test_a_data_connection_that_is_replaced_has_ended_for_all_who_use_it() -> None:
    net = SimNetwork(1)
    one, peer = asking(net)
    dialler, context = one.core.parts.dialler, one.core.parts.context
    dialler.apply(peer, peer.link.wanted(net.now))
    one._carry_out_all()
    net.until(lambda: peer.data)
    before = peer.data
    assert before is not None

    def ends() -> int:
        return sum(isinstance(fact, LoggedOut) for fact in context.facts.queue)

    dialler.use_connection(peer, before)  # the same connection
    assert ends() == 0
    other = dialler.dial(peer.node.address, NODE_DATA, peer.node.uuid)
    dialler.use_connection(peer, other)
    assert (ends(), peer.data) == (1, other)
    dialler.use_connection(peer, dialler.dial(peer.node.address, NODE_CONTROL, peer.node.uuid))
    assert ends() == 1
