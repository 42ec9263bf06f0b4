"""Whose messages may a node bring? Members that bring what they like, and what is theirs."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.core.rules.ruling import ENDS, SWITCH
from mesh.core.subscribers.origins import home, is_home
from mesh.core.subscribers.solicited import GRACE
from mesh.mapping.rules import Rule
from mesh.names import group_name
from mesh.values import Hop
from mesh.wire import commands as c
from mesh.wire.envelope import ERASED
from mesh.wire.frames import write
from tests.mesh.core.stranger import Stranger
from tests.mesh.envelopes import envelope
from tests.seeds import stories
from tests.simulated_client import Subscription, client_of
from tests.simulation import SimNetwork, SimNode
from tools.simulating.world.keys import idle

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
    master = plain.pop("master", node.uuid)
    said = replace(envelope(key, **plain), sender=sender, route=tuple(Hop(name, 0, 1) for name in by))
    item = c.Items(outlet.next, (c.ItemHead(1, 1000 + outlet.next, master),))
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


@pytest.mark.parametrize(
    ("topic", "is_taken"), [(("k", ""), False), (("x", ""), False), (("x", "STOCK"), True)]
)
def test_a_message_of_this_node_comes_back_only_where_rules_let_it_leave(
    topic: tuple[str, str], is_taken: bool
) -> None:
    _, a, b, heard = ruled(Rule("b", domains=("STOCK",)), Rule("a", keys=("k",)))
    brings(b, "a", f"/node/a/{JOE}", key=topic[0], domain=topic[1])
    assert (len(heard.contents), a.metric("forged")) == (is_taken, 1 - is_taken)


def test_one_of_several_masters_brings_what_this_one_has_too() -> None:
    _, a, b, heard = ruled(Rule("a", keys=("k",)), Rule("b", keys=("k",)))
    brings(b, "a", f"/node/a/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)


def test_a_node_that_a_rule_names_brings_out_of_the_logs_of_others() -> None:
    """It is asked for patterns, and then brings all that these match."""
    _, a, b, heard = ruled(Rule("b", keys=("k",)))
    brings(b, "a", f"/node/c/{JOE}", key="other", by=("c", "b"), master=b"c" * 16)
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)
    brings(b, "a", f"/node/a/{JOE}", key="other", by=("a", "c", "b"), master=b"c" * 16)
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 1), "messages of this node stay here"


def test_the_mesh_itself_writes_in_its_own_topics_only() -> None:
    _, a, b, heard = ruled(Rule("b", keys=("k",)))
    for sender in ("", "/node/c/client/__sys__", "/node/a/client/__sys__"):
        brings(b, "a", sender)
    assert (heard.contents, a.metric("forged")) == ([], 3)


def test_a_message_whose_sender_names_the_peer_as_its_way_is_taken_and_reported() -> None:
    """The rules of the reader are older than those of the publisher, or other ones."""
    net, rules = SimNetwork(1), (Rule("b", keys=("k",)),)
    a = net.node("a", sample=idle)
    b, c = (net.node(name, "a", rules=rules, sample=idle) for name in "bc")
    net.until(lambda: a.alive == {"b", "c"} and b.alive == {"a", "c"} and c.alive == {"a", "b"})
    heard = client_of(a, "ear").subscribed("k")
    net.until(lambda: a.core.parts.gossiping.ways_of("c") == ("b",))
    client_of(c, "joe").publish("k", b"true", persistent=True)
    net.until(lambda: heard.contents == [b"true"])
    assert a.metric("forged") == 0 and "which names it as its way" in refused(a)[0]
    brings(b, "a", f"/node/a/{JOE}")
    brings(c, "a", f"/node/b/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([b"true"], 2)


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


def test_whose_messages_may_a_node_bring_for_its_own() -> None:
    assert is_home(f"/node/b/{JOE}", ("/node/b/",))
    assert not any(is_home(sender, ("/node/b/",)) for sender in FORGED)


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
