"""Meshes in which weights are applied."""

from __future__ import annotations

from typing import Any

from mesh.discovery.state import Sample
from mesh.wire import commands as c
from tests.simulated_client import Call, SimClient, client_of
from tests.simulation import SimNetwork, SimNode
from tools.simulator.world.network import Network

IDLE = Sample(cpu=(90.0,), ram_free=4_000, ram_total=8_000)
HOUR = 3600 * 10**9
GIVEN = {"a": [2.0, "answers in 0.6 ms"], "b": [0.5, ""]}


def node(net: SimNetwork, name: str, *seeds: str, **settings: Any) -> SimNode:
    """Start a node that publishes its state."""
    return net.node(name, *seeds, sample=lambda: IDLE, **settings)


def three(net: SimNetwork) -> list[SimNode]:
    return net.mesh("a", "b", "c", sample=lambda: IDLE)


def ask(at: SimNode, **arguments: Any) -> c.Reply:
    """Send `weights` from a client of the node, and return the reply."""
    client = client_of(at).connected()
    call = asked(client, arguments)
    at.net.until(lambda: call.reply)
    client.close()
    assert call.reply is not None
    return call.reply


def asked(client: SimClient, arguments: dict[str, Any]) -> Call:
    return client.ask(lambda request: c.Call(request, "weights", arguments))


def some(net: Network[Any], **fields: Any) -> dict[str, Any]:
    """Return a set of weights that applies for an hour."""
    return {"made": net.wall, "expires": net.wall + HOUR, "weights": GIVEN, **fields}


def applied(at: SimNode, weights: dict[str, Any] | None = None, seconds: float = 3600.0) -> int:
    """Apply weights, and return the timestamp of the set that is then in force."""
    given = some(at.net, expires=at.net.wall + int(seconds * 1e9))
    reply = ask(at, set=given if weights is None else {**given, "weights": weights})
    assert reply.code == "", reply.text
    return int(reply.value["stamp"])


def within(seconds: int, at: SimNode, behind: list[str]) -> bool:
    """Return whether the node names `behind` within that time. It is asked ten times a second."""
    for _ in range(10 * seconds):
        if ask(at).value["behind"] == behind:
            return True
        at.net.run(0.1)
    return False


def in_force(at: SimNode) -> list[float]:
    return [at.core.parts.weights.weight_of(name) for name in "abc"]


def told(at: SimNode) -> list[str]:
    """Return the texts of the node's events about weights."""
    found = at.core.parts.context.events.events_after(0)[0]
    return [event.text for event in found if event.kind == "weights"]
