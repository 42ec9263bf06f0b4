"""Meshes whose nodes share rules."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from mesh.mapping.agreed import Agreed, AgreedNode, packed
from mesh.mapping.rules import Rule
from mesh.security.signing import public_key, sign
from mesh.shared.row import NOBODY, SharedRow
from mesh.wire import commands as c
from mesh.wire.limits import RULES
from tests.mesh.kernel.keyed import IDLE, keyed, met, seed_of
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode
from tools.simulator.world.keys import ADMIN

D = "D"
HERON, AVALON = Rule("heron", domains=(D,)), Rule("avalon", domains=(D,))
TO_HERON = Agreed({"heron": AgreedNode((HERON,))})
TO_AVALON = Agreed({"avalon": AgreedNode((AVALON,))})


def meshed(
    *names: str, is_keyed: bool = True, seed: int = 1, **settings: Any
) -> tuple[SimNetwork, list[SimNode]]:
    net = SimNetwork(seed)
    if is_keyed:
        nodes = [keyed(net, name, *names[:1], **settings) for name in names]
    else:
        nodes = [net.node(name, *names[:1], sample=lambda: IDLE, **settings) for name in names]
    met(net, *nodes)
    net.until(lambda: all(len(node.core.parts.gossiping.gossip.known) == len(nodes) - 1 for node in nodes))
    return net, nodes


def call(at: SimNode, verb: str, grant: str = "node", **arguments: Any) -> c.Reply:
    client = client_of(at).connected()
    for conn in at.core._conns.values():
        if conn.role == "client":
            conn.grant = grant
    asked = client.ask(lambda request: c.Call(request, verb, arguments))
    at.net.until(lambda: asked.reply)
    client.close()
    assert asked.reply is not None
    return asked.reply


def row(at: SimNode, agreed: Agreed, by: str = ADMIN, **fields: Any) -> SharedRow:
    """Return a shared row of rules, as `mesh rule` makes it."""
    stamp = at.core.parts.shared.stamp(RULES, "")
    made = replace(SharedRow(RULES, "", stamp, packed(agreed), NOBODY, 0), **fields)
    return made.signed(public_key(seed_of(by)), partial(sign, seed_of(by))) if by else made


def put(at: SimNode, agreed: Agreed, by: str = ADMIN, **said: Any) -> c.Reply:
    was = at.core.parts.shared.get_row(RULES, "")
    made = row(at, agreed, by)
    arguments = {"row": to_builtins(made, builtin_types=(bytes,)), "was": was.stamp if was else 0, **said}
    return call(at, "rules_put", **arguments)


def go_by(net: SimNetwork, nodes: list[SimNode], rules: tuple[Rule, ...], limit: float = 20) -> float:
    """Wait until all nodes use these rules, and return how long that took."""
    began = net.now
    net.until(lambda: all(node.core.parts.mapping.rules == rules for node in nodes), limit)
    return net.now - began


def events(node: SimNode) -> list[str]:
    return [e.text for e in node.core.parts.context.events.events_after(0)[0] if e.kind == RULES]
