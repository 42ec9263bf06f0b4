"""The senders of items that a peer may bring."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.kernel.rules.ruling import ENDS, SWITCH
from mesh.kernel.subscribers.origins import home, is_end, is_of_mesh
from mesh.kernel.subscribers.solicited import GRACE
from mesh.mapping.rules import Rule
from mesh.names import group_name
from mesh.values import Hop
from mesh.wire import commands as c
from mesh.wire.envelope import ERASED
from mesh.wire.frames import write
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.stranger import Stranger
from tests.seeds import scenarios
from tests.simulated_client import Subscription, client_of
from tests.simulation import SimNetwork, SimNode
from tools.simulator.world.keys import idle, key_settings

JOE = "client/joe/session/1"
FORGED = (
    f"/node/a/{JOE}",  # the receiver
    f"/node/c/{JOE}",  # another member
    f"/node/stranger/{JOE}",
    f"/node/b2/{JOE}",
    "/node/a/client/__sys__",
    "/node/c/client/__sys__",
    "",
    JOE,
    f"/site/LON/node/heron/{JOE}",
    f"/site/X/node/b/{JOE}",
    "//node/b/" + JOE,
)
SETTLED = 1.0  # s until an item has arrived


def brings(node: SimNode, to: str, sender: str, within: float = 1, **fields: Any) -> None:
    """Have a node bring a message of that sender, from its own log if no `master` is given."""
    peer = node.core.parts.neighbours.named(to)
    assert peer is not None
    node.net.until(lambda: peer.data is not None)
    node.net.run(0.5)
    assert peer.data is not None
    outlet = peer.exchange.outlet
    plain = {"contents": [b"brought"], "persistent": True, "first": outlet.next, **fields}
    key, by = plain.pop("key", "k"), plain.pop("by", (node.name,))
    master = plain.pop("master", node.uuid)
    said = replace(envelope(key, **plain), sender=sender, route=tuple(Hop(name, 0, 1) for name in by))
    item = c.Items(outlet.next, (c.ItemHead(1, 1000 + plain["first"], master),))
    node._send(peer.data.key, write(item, [said]))
    node.net.run(within)


def events(node: SimNode, kind: str = "refused") -> list[str]:
    return [e.text for e in node.core.parts.context.events.events_after(0)[0] if e.kind == kind]


def three(keys: bool = False) -> tuple[SimNode, SimNode, SimNode, Subscription]:
    """Return three nodes without rules, and a subscription at the first."""
    net = SimNetwork(1)
    a, b, third = (
        net.node(name, *"a"[: name != "a"], **(key_settings(name) if keys else {"sample": idle}))
        for name in "abc"
    )
    net.until(lambda: all(len(node.alive) == 2 for node in (a, b, third)))
    heard = client_of(a, "ear").subscribed("k")
    net.run(20 if keys else 3)  # until all states have arrived
    return a, b, third, heard


def trio() -> tuple[SimNode, SimNode, Subscription]:
    """Return two of three nodes without rules, and a subscription at the first."""
    a, b, _, heard = three()
    return a, b, heard


def ruled(*rules: Rule, own: tuple[Rule, ...] | None = None) -> tuple[SimNode, SimNode, Subscription]:
    """Return two nodes with these rules, the first one with its own if given, and a subscription there."""
    net = SimNetwork(1)
    a = net.node("a", rules=rules if own is None else own, sample=idle)
    b = net.node("b", "a", rules=rules, sample=idle)
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    return a, b, client_of(a, "ear").subscribed(pattern="#")


def test_parts_of_the_check() -> None:
    assert home("b") == "/node/b/"
    assert [is_of_mesh(s) for s in ("", "/node/c/client/__sys__", f"/node/c/{JOE}")] == [True, True, False]
    end = envelope("k", [b""], flags=ERASED)
    assert is_end(end)
    assert not is_end(replace(end, flags=0))
    assert not is_end(envelope("k", [b"and more"], flags=ERASED))
    assert not is_end(envelope("k l", [b"", b""], flags=ERASED))


# --- without rules --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sender", scenarios(list(FORGED), 6), ids=str)
def test_a_node_brings_messages_of_its_own_clients_only(sender: str) -> None:
    a, b, heard = trio()
    brings(b, "a", sender)
    assert (heard.contents, a.metric("forged")) == ([], 1)
    assert "[FORGED_SENDER]" in events(a)[0] and "b sends 'k' as" in events(a)[0]
    client_of(b, "true").publish("k", b"true", persistent=True)
    a.net.run(1)
    assert heard.contents == [b"true"], "the link stands, and what is true on it is accepted"


def test_a_message_of_the_peers_own_client_is_accepted() -> None:
    a, b, heard = trio()
    brings(b, "a", f"/node/b/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)


@pytest.mark.parametrize("by", [(), ("c",), ("c", "d"), ("d", "b"), ("c", "b", "c", "b")])
def test_a_route_that_does_not_lead_from_the_sender_to_the_peer_is_forged(by: tuple[str, ...]) -> None:
    a, b, heard = trio()
    a.core.parts.sender_check.origins.declared("c", ("b", "d"))
    brings(b, "a", f"/node/c/{JOE}", by=by)
    assert (heard.contents, a.metric("forged")) == ([], 1)


def test_a_forged_item_is_settled() -> None:
    a = SimNetwork().node("a")
    client_of(a).subscribed("k")
    stranger = Stranger(a)
    stranger.as_node()
    said = replace(envelope("k", [b"forged"], persistent=True), sender=f"/node/c/{JOE}")
    stranger.say(c.Items(1, (c.ItemHead(1, 7, b"S" * 16),)), said)
    acks = [command.settled for command in stranger.heard if isinstance(command, c.Ack)]
    assert acks[-1] == ((b"S" * 16, 7),)
    assert not stranger.is_gone


@pytest.mark.parametrize("eraser", ["a", "c"])
@pytest.mark.parametrize(
    ("fields", "is_accepted"),
    [
        ({"flags": ERASED, "contents": [b""]}, True),
        ({"flags": ERASED, "contents": [b""], "by": ("b",)}, False),
        ({"flags": ERASED, "contents": [b""], "by": ("c", "d", "c", "b")}, False),
    ],
    ids=str,
)
def test_the_end_of_a_topic_comes_from_the_node_of_the_client_that_erased_it(
    fields: dict[str, Any], is_accepted: bool, eraser: str
) -> None:
    a, b, heard = trio()
    brings(b, "a", f"/node/{eraser}/{JOE}", SETTLED, **{"by": (eraser, "b"), **fields})
    assert (len(heard.got), a.metric("forged")) == (int(is_accepted), 1 - is_accepted)


@pytest.mark.parametrize("by", [("c", "b"), ("c", "b", "b")])
def test_a_route_that_its_nodes_do_not_declare_is_accepted_at_once_and_reported(by: tuple[str, ...]) -> None:
    a, b, heard = trio()
    brings(b, "a", f"/node/c/{JOE}", by=by)
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)
    assert any("no declared next hop confirms" in note for note in a.notes)


def test_messages_that_a_peer_accepted_under_an_earlier_name_are_its_own() -> None:
    a, b, heard = trio()
    peer = a.core.parts.neighbours.peers[b.uuid]
    peer.exchange.homes = (home("former"), home("b"))
    a.core.parts.sender_check.origins.logged_in(peer)
    assert peer.exchange.homes == (home("former"), home("b"))
    brings(b, "a", f"/node/former/{JOE}")
    assert heard.contents == [b"brought"]


def test_for_a_minute_after_a_restart_known_peers_bring_any_sender() -> None:
    """The rules may have been different before the restart."""
    a, b, _ = trio()
    a.restart()
    heard = client_of(a, "ear").subscribed("k")
    a.net.run(5)
    brings(b, "a", f"/node/c/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)
    a.net.run(GRACE)
    brings(b, "a", f"/node/c/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 1)


def test_a_group_receives_messages_that_their_master_may_bring() -> None:
    a, b, _ = trio()
    to = group_name("pool", "", "k")
    for sender, count in ((f"/node/b/{JOE}", 0), (f"/node/a/{JOE}", 1), (f"/node/c/{JOE}", 2)):
        peer = b.core.parts.neighbours.named("a")
        assert peer is not None and peer.data is not None
        dealt = replace(envelope("k"), sender=sender, to=to, route=(Hop("b", 0, 1),))
        b._send(peer.data.key, write(c.Sends((1,)), [dealt]))
        a.net.run(1)
        assert a.metric("forged") == count


def test_a_list_of_ways_that_may_have_been_cut_contradicts_nothing() -> None:
    a, b, third, heard = three()
    third.core.parts.ways.apply_rules([Rule(f"n{i}", keys=(f"k{i}",)) for i in range(20)])
    brings(b, "a", f"/node/c/{JOE}", SETTLED, by=("c", "b"))
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)


def test_a_peer_proves_a_route_by_signed_states() -> None:
    a, b, _, heard = three(keys=True)
    a.core.parts.vouching._believed.add((b.uuid, ("ghost", "b")))
    brings(b, "a", f"/node/ghost/{JOE}", by=("ghost", "b"))
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)


# --- with rules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("node", ["a", "c"])
def test_a_rule_lets_its_master_bring_messages_of_any_node_for_that_topic_alone(node: str) -> None:
    a, b, heard = ruled(Rule("b", keys=("k",)))
    brings(b, "a", f"/node/{node}/{JOE}")
    brings(b, "a", f"/node/{node}/{JOE}", key="other")
    brings(b, "a", f"/node/{node}/{JOE}", first=50)
    assert (heard.contents, a.metric("forged")) == ([b"brought"] * 2, 1)


@pytest.mark.parametrize(
    ("topic", "is_accepted"), [(("k", ""), False), (("x", ""), False), (("x", "STOCK"), True)]
)
def test_a_message_of_this_node_comes_back_only_where_rules_let_it_leave(
    topic: tuple[str, str], is_accepted: bool
) -> None:
    a, b, heard = ruled(Rule("b", domains=("STOCK",)), Rule("a", keys=("k",)))
    brings(b, "a", f"/node/a/{JOE}", key=topic[0], domain=topic[1])
    assert (len(heard.contents), a.metric("forged")) == (is_accepted, 1 - is_accepted)


def test_one_of_several_masters_brings_messages_of_the_others() -> None:
    a, b, heard = ruled(Rule("a", keys=("k",)), Rule("b", keys=("k",)))
    brings(b, "a", f"/node/a/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)


def test_a_node_that_a_rule_names_brings_items_of_other_masters() -> None:
    """Patterns are requested from such a node, which brings all matching messages."""
    a, b, heard = ruled(Rule("b", keys=("k",)))
    brings(b, "a", f"/node/c/{JOE}", key="other", by=("c", "b"), master=b"c" * 16)
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)
    brings(b, "a", f"/node/a/{JOE}", key="other", by=("a", "c", "b"), master=b"c" * 16)
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 1), "messages of this node stay here"


def test_an_end_that_a_slave_relays_visits_it_twice() -> None:
    """An erase goes through the slave to the master, and the end of the topic comes back through it."""
    a, b, heard = ruled(Rule("b", stratum=1, keys=("k",)))
    end: dict[str, Any] = {"flags": ERASED, "contents": [b""], "master": b"c" * 16}
    brings(b, "a", f"/node/a/{JOE}", by=("a", "b", "c", "b"), **end)
    assert (len(heard.got), a.metric("forged")) == (1, 0)


def test_the_mesh_itself_is_the_sender_in_its_own_topics_only() -> None:
    a, b, heard = ruled(Rule("b", keys=("k",)))
    brings(b, "a", f"/node/c/{JOE}")
    for sender in ("", "/node/c/client/__sys__", "/node/a/client/__sys__"):
        brings(b, "a", sender)
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 3)


def test_a_rule_for_another_node_lets_nobody_else_bring_the_topic() -> None:
    a, b, heard = ruled(Rule("c", keys=("k",)))
    brings(b, "a", f"/node/c/{JOE}", SETTLED)
    assert (heard.contents, a.metric("forged")) == ([], 1)


def test_the_next_rules_count_before_they_are_in_force_here() -> None:
    """Other nodes may already follow the next rules."""
    a, b, heard = ruled(Rule("a", keys=("other",)))
    a.net.run(2)
    a.core.parts.ruling.set_rules((Rule("b", keys=("k",)),), ())
    a.net.run(SWITCH / 2)
    brings(b, "a", f"/node/c/{JOE}")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 0)


def test_messages_that_a_master_accepted_by_earlier_rules_still_come() -> None:
    """The master was unreachable during the change, and longer than both sets of rules count."""
    a, b, heard = ruled(Rule("b", keys=("k",)))
    a.net.run(2)
    a.core.parts.ruling.set_rules((), ())
    a.net.run(SWITCH + ENDS + 10)
    assert a.core.parts.demand.is_changing is False and a.core.parts.mapping.is_plain
    brings(b, "a", f"/node/c/{JOE}")
    brings(b, "a", f"/node/c/{JOE}", key="never")
    assert (heard.contents, a.metric("forged")) == ([b"brought"], 1)
