"""Nodes are ways for each other, as keys have masters of their own: is what they bring settled in the end?"""

from __future__ import annotations

import pytest

from mesh.mapping.rules import Rule
from tests.mesh.core.several import Places
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

D = "D"
KEYS = {"avalon": "a", "bilbo": "b", "golan": "c"}
OWN_KEYS = tuple(Rule(node, keys=(key,)) for node, key in KEYS.items())
ONE = (Rule("heron", domains=(D,)), *OWN_KEYS)
SEVERAL = (*ONE, Rule("frodo", domains=(D,)))


def mesh(rules: tuple[Rule, ...]) -> tuple[SimNetwork, dict[str, SimNode]]:
    """All want all, so each of those with a key asks all others, and is asked."""
    net = SimNetwork(1)
    net.places = Places()
    nodes = net.mesh("heron", *KEYS, "frodo", rules=rules)
    return net, {node.name: node for node in nodes}


def left(nodes: dict[str, SimNode]) -> dict[str, int]:
    return {name: n for name, node in nodes.items() if (n := node.metric("stored_envelopes"))}


@pytest.mark.parametrize("key", ["a", "k"])
@pytest.mark.parametrize("rules", [ONE, SEVERAL])
def test_what_goes_round_is_settled_when_all_have_it(rules: tuple[Rule, ...], key: str) -> None:
    net, nodes = mesh(rules)
    ears = [client_of(node, "ear").subscribed(pattern="#", domain=D) for node in nodes.values()]
    pub = client_of(nodes["bilbo"], "pub")
    pub.publish(key, b"1", domain=D, persistent=True)
    pub.settled()
    net.until(lambda: all(ear.contents == [b"1"] for ear in ears))
    net.until(lambda: not left(nodes), 20)


def test_what_goes_round_stays_with_its_master_until_all_have_it() -> None:
    net, nodes = mesh(ONE)
    ears = {node.name: client_of(node, "ear").subscribed(pattern="#", domain=D) for node in nodes.values()}
    net.run(1)
    slow = client_of(nodes["frodo"], "slow").subscribed(pattern="#", domain=D, rate=0.0)
    pub = client_of(nodes["bilbo"], "pub")
    pub.publish("a", b"1", domain=D, persistent=True)
    net.until(lambda: all(ear.contents == [b"1"] for ear in ears.values()))
    net.run(20)
    assert left(nodes) == {"avalon": 1} and slow is not None
