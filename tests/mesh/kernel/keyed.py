"""Simulated nodes with keys: their states are signed, and anybody may say what he likes on a link."""

from typing import Any

from mesh.wire.commands import Forward
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames, write
from tests.simulation import SimNetwork, SimNode
from tools.simulator.world.keys import IDLE, SECRETS, key_settings, seed_of

__all__ = ["IDLE", "SECRETS", "forward", "key_settings", "keyed", "logged_in", "met", "seed_of"]


def keyed(net: SimNetwork, name: str, *seeds: str, **settings: Any) -> SimNode:
    """A node with keys, that is running."""
    return net.node(name, *seeds, **{**key_settings(name), **settings})


def met(net: SimNetwork, *nodes: SimNode) -> None:
    """Wait until all see each other."""
    net.until(lambda: all(len(node.alive) >= len(nodes) - 1 for node in nodes))


def forward(liar: SimNode, to: SimNode, *envelopes: Envelope) -> None:
    """What a node says that does as it likes."""
    peer = liar.core.parts.neighbours.named(to.name)
    assert peer is not None and peer.data is not None
    frames = write(Forward(tuple(map(body_frames, envelopes))), envelopes)
    liar._send(peer.data.key, frames)


def logged_in(liar: SimNode, to: SimNode) -> None:
    """A data connection, whether it is needed or not."""
    neighbours = liar.core.parts.neighbours
    liar.core.parts.context.face.login_requirers.append(lambda peer: True)
    liar.net.until(lambda: (peer := neighbours.named(to.name)) and peer.data and peer.data.is_open)
