"""Rules and addresses as topics, which clients read and subscribe to."""

from __future__ import annotations

from mesh.kernel.rules.ruling import SWITCH
from mesh.mapping.rules import Rule
from tests.simulated_client import client_of
from tests.simulation import SimNetwork

MASTER, INFO = "__sys__cluster.node.master", "__sys__cluster.node.info"
NEWS, SPORTS = Rule("b", domains=("NEWS",)), Rule("b", domains=("SPORTS",))


def test_rules_and_addresses_are_read_as_topics_and_changes_are_heard() -> None:
    net = SimNetwork(1)
    a, _ = net.mesh("a", "b", rules=(NEWS,))
    client = client_of(a)
    [news] = client.get(f"{MASTER}[b]")
    assert b'<key queryType="DOMAIN" domain="NEWS">' in news.content and client.get(f"{MASTER}[a]") == []
    assert [b"tcp" in each.content or b"socket" in each.content for each in client.get(f"{INFO}[b]")]
    ear, other = client.subscribed(f"{MASTER}[b]"), client.subscribed(f"{MASTER}[a]")
    net.until(lambda: len(ear.contents) == 1)
    a.core._at(net.now, net.wall)
    a.core.parts.ruling.set_rules((SPORTS, Rule("a", keys=("k",))), ())
    a._carry_out_all()
    net.run(SWITCH + 1)
    assert b"SPORTS" in ear.contents[-1] and len(ear.contents) == 2
    assert [b'oid="k"' in content for content in other.contents] == [True]
    a.core.parts.ruling.set_rules((), ())
    a._carry_out_all()
    net.run(SWITCH + 1)
    assert b"<master" not in ear.contents[-1] and len(ear.contents) == 3
    assert client_of(a, "x").get(f"{MASTER}[b]") == []


def test_they_are_of_this_node_and_no_other_is_asked_or_given_them() -> None:
    net = SimNetwork(1)
    a, b = net.mesh("a", "b", rules=())
    a.core.parts.ruling.set_rules((NEWS,), ())
    a._carry_out_all()
    net.run(SWITCH + 1)
    assert len(client_of(a).get(f"{MASTER}[b]")) == 1
    assert client_of(b).get(f"{MASTER}[b]") == []
