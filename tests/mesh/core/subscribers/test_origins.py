"""Whose messages may a node bring? Members that bring what they like, and what is theirs."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.config.sites import RemoteSite
from mesh.core.rules.ruling import ENDS, SWITCH
from mesh.core.subscribers.origins import home, is_home
from mesh.core.subscribers.solicited import GRACE
from mesh.mapping.rules import Rule
from mesh.names import SENDS, group_name
from mesh.sites.accepting import Accepts
from mesh.values import Hop
from mesh.wire import commands as c
from mesh.wire.envelope import ERASED
from mesh.wire.frames import write
from tests.mesh.core.sites.meshes import FIRST, gateway, links, member
from tests.mesh.core.stranger import Stranger
from tests.mesh.envelopes import envelope
from tests.seeds import stories
from tests.simulated_client import Subscription, client_of
from tests.simulation import SimNetwork, SimNode

JOE = "client/joe/session/1"
FORGED = (
    f"/node/a/{JOE}",  # of the node that is given it
    f"/node/c/{JOE}",  # of another member
    f"/node/stranger/{JOE}",
    f"/node/b2/{JOE}",
    "/node/a/client/__sys__",
    "",  # the mesh itself
    JOE,
    f"/site/LON/node/heron/{JOE}",
    f"/site/X/node/b/{JOE}",
    "//node/b/" + JOE,
)


def brings(node: SimNode, to: str, sender: str, **fields: Any) -> None:
    """Have a node bring a message of that sender, out of its own log."""
    peer = node.core.parts.neighbours.named(to)
    assert peer is not None
    node.net.until(lambda: peer.data is not None)  # acknowledgements of what it did not count end it
    node.net.run(0.5)
    assert peer.data is not None
    outlet = peer.exchange.outlet
    plain = {"contents": [b"brought"], "persistent": True, "first": outlet.next, **fields}
    key, by = plain.pop("key", "k"), plain.pop("by", (node.name,))
    said = replace(envelope(key, **plain), sender=sender, route=tuple(Hop(name, 0, 1) for name in by))
    item = c.Items(outlet.next, (c.ItemHead(1, 1000 + outlet.next, node.uuid),))
    node._send(peer.data.key, write(item, [said]))
    node.net.run(1)


def refused(node: SimNode) -> list[str]:
    return [e.text for e in node.core.parts.desk.events.after(0)[0] if e.kind == "refused"]


def trio() -> tuple[SimNode, SimNode, Subscription]:
    net = SimNetwork(1)
    a, b, _ = net.mesh("a", "b", "c")
    heard = client_of(a, "ear").subscribed("k")
    net.run(2)
    return a, b, heard


@pytest.mark.parametrize("sender", stories(list(FORGED), 6), ids=str)
def test_without_a_rule_a_node_brings_messages_of_its_own_clients_only(sender: str) -> None:
    a, b, heard = trio()
    brings(b, "a", sender)
    assert (heard.contents, a.metric("forged")) == ([], 1)
    assert "[FORGED_SENDER]" in refused(a)[0] and "b brings 'k'" in refused(a)[0]
    client_of(b, "true").publish("k", b"true", persistent=True)
    a.net.run(1)
    assert heard.contents == [b"true"], "the link stands, and what is true on it is taken"


def test_a_message_of_its_own_client_is_taken() -> None:
    a, b, heard = trio()
    brings(b, "a", f"/node/b/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)


def test_what_was_forged_is_settled_so_that_it_does_not_come_for_ever() -> None:
    a = SimNetwork().node("a")
    client_of(a).subscribed("k")
    stranger = Stranger(a)
    stranger.as_node()
    said = replace(envelope("k", [b"forged"], persistent=True), sender=f"/node/c/{JOE}")
    stranger.say(c.Items(1, (c.ItemHead(1, 7, b"S" * 16),)), said)
    acks = [command.settled for command in stranger.heard if isinstance(command, c.Ack)]
    assert acks[-1] == ((b"S" * 16, 7),)
    assert not stranger.is_gone


def ruled(*rules: Rule) -> tuple[SimNetwork, SimNode, SimNode, Subscription]:
    net = SimNetwork(1)
    a = net.node("a", rules=rules)
    b = net.node("b", "a", rules=rules)
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    return net, a, b, client_of(a, "ear").subscribed(pattern="#")


@pytest.mark.parametrize("node", ["a", "c"])
def test_a_rule_lets_its_master_bring_messages_of_any_node_of_that_topic_alone(node: str) -> None:
    _, a, b, heard = ruled(Rule("b", keys=("k",)))
    brings(b, "a", f"/node/{node}/{JOE}")
    brings(b, "a", f"/node/{node}/{JOE}", key="other")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 1)


def test_a_rule_for_another_node_lets_nobody_else_bring_it() -> None:
    _, a, b, heard = ruled(Rule("c", keys=("k",)))
    brings(b, "a", f"/node/c/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([], 1)


def test_what_a_master_took_by_earlier_rules_still_comes() -> None:
    """It was away when the rules changed, for longer than one asks by both."""
    net, a, b, heard = ruled(Rule("b", keys=("k",)))
    net.run(2)
    a.core.parts.ruling.adopt((), ())
    net.run(SWITCH + ENDS + 10)
    assert a.core.parts.demand._beside == () and a.core.parts.mapping.is_plain
    brings(b, "a", f"/node/c/{JOE}")
    brings(b, "a", f"/node/c/{JOE}", key="never")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 1)


def test_after_a_restart_what_met_nodes_owe_still_comes_for_a_minute() -> None:
    """Its rules may have been others before."""
    a, b, _ = trio()
    a.restart()
    heard = client_of(a, "ear").subscribed("k")
    a.net.run(5)
    brings(b, "a", f"/node/c/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)
    a.net.run(GRACE)
    brings(b, "a", f"/node/c/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 1)


def test_what_a_node_took_under_an_earlier_name_is_its_own() -> None:
    a, b, heard = trio()
    peer = a.core.parts.neighbours.peers[b.uuid]
    peer.exchange.homes = (home("former"), home("b"))
    a.core.parts.links.origins.logged_in(peer)
    assert peer.exchange.homes == (home("former"), home("b"))
    brings(b, "a", f"/node/former/{JOE}")
    assert heard.contents == [b"brought"]


# --- other sites --------------------------------------------------------------------------------------


def sites() -> tuple[SimNode, SimNode, SimNode, Subscription]:
    """NYC's gateway gull and its members wren and finch, where somebody reads, with LON's heron."""
    net = SimNetwork()
    there = {"LON": RemoteSite("LON", accepts=Accepts(("STOCK",)))}
    gull = gateway(net, "gull", "NYC", "LON", tables=there)
    heron = gateway(net, "heron", "LON", "NYC", FIRST, tables={"NYC": RemoteSite("NYC", domains=("STOCK",))})
    wren, finch = (member(net, name, "NYC", gull.name, tables=there, sites={}) for name in ("wren", "finch"))
    net.until(lambda: links(gull) == links(heron) == 1)
    net.until(lambda: wren.alive == {"gull", "finch"} and finch.alive == {"gull", "wren"})
    heard = client_of(wren, "ear").subscribed(pattern="#", domain="STOCK")
    net.run(2)
    return heron, finch, wren, heard


def test_a_message_of_another_site_comes_from_gateways_only() -> None:
    heron, finch, wren, heard = sites()
    mallory = f"/site/LON/node/heron/{JOE}"
    brings(finch, "wren", mallory, domain="STOCK")
    assert (heard.contents, wren.metric("forged")) == ([], 1)
    client_of(heron, "joe").publish("quote", b"true", domain="STOCK", persistent=True)
    heron.net.until(lambda: heard.contents == [b"true"])
    gull = heron.net.nodes["gull"]
    brings(gull, "wren", f"/site/SFO/node/x/{JOE}", domain="STOCK")
    assert (heard.contents, wren.metric("forged")) == ([b"true"], 2), "no site that is known here"


def test_whose_messages_may_a_node_bring_for_its_own() -> None:
    assert is_home(f"/node/b/{JOE}", ("/node/b/",))
    assert not any(is_home(sender, ("/node/b/",)) for sender in FORGED)


def test_a_message_of_another_site_is_forwarded_and_asked_by_gateways_only() -> None:
    heron, finch, wren, _ = sites()
    mallory = replace(
        envelope("quote", domain="STOCK", persistent=True),
        sender=f"/site/LON/node/heron/{JOE}",
        route=(Hop("site:LON/heron", 0, 1), Hop("finch", 0, 1)),
    )
    asked = replace(
        envelope("x", domain=SENDS), keys=("",), sender=mallory.sender, route=mallory.route, to="calc"
    )
    for number, command in ((1, c.Forward((1,))), (2, c.Sends((1,)))):
        peer = finch.core.parts.neighbours.named("wren")
        assert peer is not None and peer.data is not None
        finch._send(peer.data.key, write(command, [mallory if number == 1 else asked]))
        heron.net.run(1)
        assert wren.metric("forged") == number


def test_a_group_is_dealt_messages_that_their_master_may_bring() -> None:
    a, b, _ = trio()
    to = group_name("pool", "", "k")
    for sender, count in ((f"/node/b/{JOE}", 0), (f"/node/a/{JOE}", 1), (f"/node/c/{JOE}", 2)):
        peer = b.core.parts.neighbours.named("a")
        assert peer is not None and peer.data is not None
        dealt = replace(envelope("k"), sender=sender, to=to, route=(Hop("b", 0, 1),))
        b._send(peer.data.key, write(c.Sends((1,)), [dealt]))
        a.net.run(1)
        assert a.metric("forged") == count


@pytest.mark.parametrize(
    ("fields", "is_taken"),
    [
        ({"flags": ERASED, "contents": [b""]}, True),
        ({"flags": ERASED, "contents": [b"and more"]}, False),
        ({"flags": ERASED, "contents": [b""], "by": ("b",)}, False),
        ({"flags": ERASED, "contents": [b""], "by": ("c", "a", "c", "b")}, False),
    ],
    ids=str,
)
def test_the_end_of_a_topic_comes_by_the_node_of_the_client_that_erased_it(
    fields: dict[str, Any], is_taken: bool
) -> None:
    a, b, heard = trio()
    brings(b, "a", f"/node/c/{JOE}", **{"by": ("c", "b"), **fields})
    assert (len(heard.got), a.metric("forged")) == (int(is_taken), 1 - is_taken)
