"""Nodes that relay for each other, with masters on both sides: all that they bring is settled."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mesh.kernel.parts import Parts
from mesh.mapping.rules import Rule
from mesh.values import Hop
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.several import Places
from tests.seeds import scenarios
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

D = "D"
KEYS = {"avalon": "a", "bilbo": "b", "golan": "c"}
OWN_KEYS = tuple(Rule(node, keys=(key,)) for node, key in KEYS.items())
ONE = (Rule("heron", domains=(D,)), *OWN_KEYS)
SEVERAL = (*ONE, Rule("frodo", domains=(D,)))


def mesh(rules: tuple[Rule, ...]) -> tuple[SimNetwork, dict[str, SimNode]]:
    """Return nodes that all want all messages, so that each one with a key asks all others."""
    net = SimNetwork(1)
    net.places = Places()
    nodes = net.mesh("heron", *KEYS, "frodo", rules=rules)
    return net, {node.name: node for node in nodes}


def left(nodes: dict[str, SimNode]) -> dict[str, int]:
    return {name: n for name, node in nodes.items() if (n := node.metric("stored_envelopes"))}


@pytest.mark.parametrize("case", scenarios([(SEVERAL, "k"), (ONE, "a"), (ONE, "k"), (SEVERAL, "a")]))
def test_what_goes_round_is_settled_when_all_have_it(case: tuple[tuple[Rule, ...], str]) -> None:
    rules, key = case
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
    net.run(10)
    assert left(nodes) == {"avalon": 1} and slow is not None


def brought(parts: Parts, by: SimNode, master: bytes, place: int, e: Envelope) -> int:
    """Let a node bring an item of a master's log, and return the position that bilbo has settled with it."""
    peer = parts.neighbours.peers[by.uuid]
    parts.links._receive(peer, master, place, 0, e)
    return peer.exchange.upstreams[master].settled


def test_only_what_is_held_and_comes_by_a_way_waits_for_nobody() -> None:
    net, nodes = mesh(ONE)
    for name in KEYS:
        client_of(nodes[name], "ear").subscribed(pattern="#", domain=D)
    net.run(1)
    parts, master = nodes["bilbo"].core.parts, nodes["avalon"].uuid
    for n, comes in enumerate(("whole", "from its master", "in part", "older")):
        place, stream = (1 << 41) + 1000 * n, bytes([65 + n]) * 16
        whole = replace(
            envelope("k k", domain=D, persistent=True, stream=stream), route=(Hop("avalon", 0, 1),)
        )
        first = whole.part(1, 1) if comes == "in part" else whole
        assert brought(parts, nodes["golan"], master, place, first) < place, "others get it by bilbo"
        if comes == "from its master":
            assert brought(parts, nodes["avalon"], master, place, whole) < place
        elif comes == "older":  # no node has brought this one
            before = parts.context.counters.values["relayed"]
            brought(parts, nodes["heron"], master, place - 1, replace(whole, stream=b"o" * 16))
            assert parts.context.counters.values["relayed"] == before + 2
        else:
            settled = brought(parts, nodes["heron"], master, place, whole)
            assert (settled == place) == (comes == "whole"), comes


def test_where_nobody_is_behind_all_ways_wait_for_who_reads_it_here() -> None:
    net, nodes = mesh(ONE)
    client_of(nodes["frodo"], "ear").subscribed(pattern="#", domain=D)
    net.run(1)
    parts, master, place = nodes["frodo"].core.parts, nodes["avalon"].uuid, 1 << 41
    e = replace(envelope("k", domain=D, persistent=True), route=(Hop("avalon", 0, 1),))
    settled = [brought(parts, nodes[way], master, place, e) for way in ("golan", "heron")]
    assert max(settled) < place
