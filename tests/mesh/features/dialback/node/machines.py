"""Simulated nodes on machines of their own, which advertise addresses of a LAN."""

from collections.abc import Callable
from typing import Any

from mesh.features.all import FEATURES
from mesh.kernel.feature import Feature
from mesh.kernel.parts import Parts
from mesh.wire.calls import AskDialBack
from mesh.wire.replies import DialedBack
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode
from tools.simulator.world.keys import key_settings

LIMIT = 10.0  # s of simulated time until an address is checked


class OldNode(SimNode):
    """A node of an earlier release, which cannot dial back."""

    @property
    def features(self) -> tuple[Feature[Parts], ...]:
        return tuple(feature for feature in FEATURES if feature.name != "dialback")


def at(address: str) -> str:
    return f"tcp://{address}:7710"


def machine(
    net: SimNetwork,
    name: str,
    host: str,
    *seeds: str,
    made: Callable[..., SimNode] = SimNode,
    is_keyed: bool = False,
    **settings: Any,
) -> SimNode:
    """Start a node that advertises `host`."""
    node = made(net, name, seeds, {**(key_settings(name) if is_keyed else {}), **settings})
    node.address = at(host)
    node.start()
    return node


def reachable(node: SimNode) -> str:
    return node.core.parts.context.reachable.code


def events(node: SimNode, kind: str) -> list[str]:
    return [event["text"] for event in client_of(node).call("events")["events"] if event["kind"] == kind]


def ask(node: SimNode, to: SimNode, address: str) -> list[str]:
    """Return the list that gets the outcome, or the error code, of a dial by `to` that `node` asks for."""
    peer = node.core.parts.neighbours.peers[to.uuid]
    told = list[str]()
    node.core.parts.questions.ask_all(
        [peer],
        AskDialBack(address=address),
        DialedBack,
        lambda replies, _: told.extend(reply.code or reply.value.outcome for reply in replies.values()),
        within=8.0,
        by=lambda peer, call: node.core.parts.context.out.send(peer.control, call),
    )
    return told
