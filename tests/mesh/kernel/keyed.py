"""Simulated nodes with keys: their states are signed, and a test can send anything on their links."""

from typing import Any

from mesh.wire.commands import Forward
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames, write
from tests.simulation import SimNetwork, SimNode
from tools.simulator.world.keys import IDLE, SECRETS, key_settings, seed_of

__all__ = ["IDLE", "SECRETS", "forward", "key_settings", "keyed", "logged_in", "met", "seed_of"]


def keyed(net: SimNetwork, name: str, *seeds: str, **settings: Any) -> SimNode:
    """Start a node with keys."""
    return net.node(name, *seeds, **{**key_settings(name), **settings})


def met(net: SimNetwork, *nodes: SimNode) -> None:
    """Wait until all nodes see each other."""
    net.until(lambda: all(len(node.alive) >= len(nodes) - 1 for node in nodes))


def forward(liar: SimNode, to: SimNode, *envelopes: Envelope) -> None:
    """Send envelopes from `liar`, as a node that obeys no rules."""
    peer = liar.core.parts.neighbours.named(to.name)
    assert peer is not None and peer.data is not None
    frames = write(Forward(tuple(map(body_frames, envelopes))), envelopes)
    liar._send(peer.data.key, frames)


def logged_in(liar: SimNode, to: SimNode) -> None:
    """Wait for a data connection, whether or not it is needed."""
    neighbours = liar.core.parts.neighbours
    liar.core.parts.context.face.login_requirers.append(lambda peer: True)
    liar.net.until(lambda: (peer := neighbours.named(to.name)) and peer.data and peer.data.is_open)
