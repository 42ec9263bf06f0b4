"""Meshes whose rules change while messages flow."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.mapping.rules import Rule
from tests.simulated_client import SimClient, Subscription
from tests.simulation import SimNetwork, SimNode

D = "D"
ENDS = 10.0  # s; used by the fixture `short_periods`
HERON, AVALON = (Rule("heron", domains=(D,)),), (Rule("avalon", domains=(D,)),)


def adopt(node: SimNode, rules: Sequence[Rule]) -> None:
    """Let the node use these rules from now on, and after a restart."""
    node._settings["rules"] = tuple(rules)
    node.core._at(node.net.now, node.net.wall)
    node.core.parts.ruling.set_rules(rules, ())
    node._carry_out_all()


def mesh(*rules: Sequence[Rule], seed: int = 1) -> tuple[SimNetwork, list[SimNode]]:
    """Start heron, avalon, bilbo and frodo with the first of these rules."""
    net = SimNetwork(seed)
    nodes = net.mesh("heron", "avalon", "bilbo", "frodo", rules=tuple(rules[0]))
    return net, nodes


def contents(client: SimClient, domain: str = D) -> list[bytes]:
    return [message.content for message in client.get("k", domain=domain)]


FRODO = (Rule("frodo", domains=(D,)),)


def flow(net: SimNetwork, pub: SimClient, ear: Subscription, first: int, messages: int) -> float:
    """Publish a message each 0.1 s, from number `first` on. Return the longest delay of an arrival."""
    came, longest = len(ear.contents), 0.0
    for number in range(first, first + messages):
        pub.publish("k", b"%d" % number, domain=D, persistent=bool(number % 2))
        net.run(0.1)
        for content in ear.contents[came:]:
            longest = max(longest, (number + 1 - int(content)) / 10)
        came = len(ear.contents)
    return longest
