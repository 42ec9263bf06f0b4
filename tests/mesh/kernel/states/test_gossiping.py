"""A node gossips in the same order whatever the hashes of Python, so that runs can be repeated."""

from unittest.mock import patch

from mesh.kernel.context.effects import Listen
from mesh.wire.commands import Hear
from mesh.wire.frames import read
from tests.simulation import SimNetwork

NAMES = tuple("abcdefgh")


def test_whose_states_are_not_heard_are_asked_in_the_order_of_their_uuids() -> None:
    net = SimNetwork()
    first, *others = net.mesh(*NAMES)
    core, said = first.core, list[bytes]()
    uuid_of = {peer.control.key: uuid for uuid, peer in core.parts.neighbours.peers.items() if peer.control}

    def sent(key: object, frames: list[bytes]) -> None:
        said.extend([uuid_of[key]] if isinstance(read(frames)[0], Hear) else ())

    unheard = {node.uuid for node in others}
    with patch.object(core.parts.gossiping.gossip, "unheard", lambda listened, now: unheard):
        core.parts.gossiping._ask_the_unheard(set())
    with patch.object(first, "_send", sent):
        first._carry_out_all()
    assert said == sorted(unheard)


def test_whose_states_are_to_be_heard_are_listened_to_in_that_order_too() -> None:
    net = SimNetwork()
    first, *others = net.mesh(*NAMES)
    gossiping, alive = first.core.parts.gossiping, {node.uuid for node in others}
    gossiping._listening.clear()
    with patch.object(gossiping.gossip, "listen_to", lambda *given: alive):
        gossiping._listen()
    effects = first.core.take_effects()
    ordered = [gossiping._place(uuid) for uuid in sorted(alive)]
    assert [effect.address for effect in effects if isinstance(effect, Listen)] == ordered
