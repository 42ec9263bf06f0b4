"""Messages that were not requested, from a node that lies and from nodes that are late."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.mapping.rules import Rule
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import write
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.masters import RUGBY, cluster
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import Subscription, client_of
from tests.simulation import SimNetwork, SimNode

ITSELF = b"S" * 16  # uuid of the stranger
OTHER = b"v" * 16
OWN = "/node/stranger/client/joe/session/1"


def talking(a: SimNode, name: str = "stranger") -> Stranger:
    stranger = Stranger(a)
    stranger.as_node(name=name)
    return stranger


def settled(stranger: Stranger) -> dict[bytes, int]:
    return {m: n for command in stranger.heard if isinstance(command, c.Ack) for m, n in command.settled}


def events(a: SimNode) -> list[str]:
    return [e.text for e in a.core.parts.context.events.events_after(0)[0] if e.kind == "refused"]


def a_asks_b() -> tuple[SimNetwork, SimNode, SimNode, Subscription]:
    """Return a mesh whose b is master of k, and a subscription at a, which asks no other node."""
    net = SimNetwork(1)
    rules = (Rule("b", keys=("k",)),)
    a, b = net.node("a", rules=rules, scope="local"), net.node("b", "a", rules=rules, scope="local")
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    return net, a, b, client_of(a).subscribed("k")


def test_trial_A4_items_that_nobody_asked_that_node_for_go_to_nobody() -> None:
    """The rules name b as master of k: a asks b for it, and not the stranger."""
    net, a, b, heard = a_asks_b()
    stranger = talking(a)
    stranger.say(c.Items(1, (c.ItemHead(1, 7, ITSELF),)), envelope("k", [b"forged"], persistent=True))
    stranger.say(c.Items(2, (c.ItemHead(1, 0, ITSELF),)), envelope("k", [b"forged"], first=2))
    assert (heard.got, a.metric("unasked"), stranger.is_gone) == ([], 2, False)
    assert settled(stranger)[ITSELF] == 7, "or it would come for ever"
    assert len(events(a)) == 1 and "stranger sends 'k'" in events(a)[0]
    client_of(b, "ann").publish("k", b"true")
    net.until(lambda: heard.contents == [b"true"])


def test_trial_A4_of_an_envelope_only_what_was_asked_for_is_taken() -> None:
    a = SimNetwork().node("a")
    heard = client_of(a).subscribed("k")
    stranger = talking(a)
    three = replace(envelope("other k more", [b"1", b"2", b"3"]), sender=OWN)
    stranger.say(c.Items(1, (c.ItemHead(1, 0, ITSELF),)), three)
    assert heard.contents == [b"2"]


def test_trial_D_a_gap_is_told_that_comes_with_what_nobody_wants_any_more() -> None:
    a = SimNetwork().node("a")
    heard = client_of(a).subscribed("k")
    stranger = talking(a)
    stranger.say(
        c.Items(1, (c.ItemHead(1, 7, ITSELF, (), ((0, 3),)),)), envelope("gone", [b"0"], persistent=True)
    )
    assert heard.dropped == 3, "nothing has followed yet"
    stranger.say(c.Items(2, (c.ItemHead(1, 0, ITSELF),)), replace(envelope("k", [b"1"], first=2), sender=OWN))
    assert [(m.content, m.gap) for m in heard.got] == [(b"1", 3)]
    assert a.metric("unasked") == 1


def test_trial_D_of_a_gap_nobody_is_told_by_whom_nobody_asks_for_anything() -> None:
    net, a, b, heard = a_asks_b()
    talking(a).say(
        c.Items(1, (c.ItemHead(1, 7, ITSELF, (), ((0, 3),)),)), envelope("k", [b"0"], persistent=True)
    )
    client_of(b, "ann").publish("k", b"true")
    net.until(lambda: heard.got)
    assert [(m.content, m.gap) for m in heard.got] == [(b"true", 0)]


def test_trial_A4_the_log_of_another_is_settled_for_nobody_else() -> None:
    """An invented position in it must not make real items of that node look old."""
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    heard = client_of(a).subscribed(pattern="#")
    stranger = talking(a)
    place = 2**62
    for number, persistent in ((1, True), (2, False)):
        item = c.Items(number, (c.ItemHead(1, place, b.uuid),))
        stranger.say(item, envelope("k", [b"forged"], persistent=persistent, first=number))
    assert (heard.got, a.metric("unasked"), settled(stranger)) == ([], 2, {b.uuid: place})
    late = client_of(a, "late").subscribed(pattern="#")
    ann = client_of(b, "ann")
    ann.publish("k", b"true", persistent=True)
    net.until(lambda: heard.contents == late.contents == [b"true"])


def test_trial_A4_our_own_log_comes_from_nobody_not_even_from_a_way() -> None:
    """A relayed item with an invented position once made later ones look old to the nodes behind."""
    net = SimNetwork()
    rules = (Rule("a", keys=("mine",)), Rule("stranger", keys=("k",)))
    a = net.node("a", rules=rules, known=("stranger",), links="configured", scope="local")
    ways = (Rule("a", 1, keys=("mine", "k")),)
    b = net.node("b", "a", rules=ways, known=("a",), links="configured", scope="local")
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    heard, stranger = client_of(b).subscribed(pattern="#"), talking(a)
    item = c.Items(1, (c.ItemHead(1, 2**62, a.uuid),))
    stranger.say(item, envelope("k", [b"forged"], persistent=True))
    assert (heard.got, a.metric("unasked"), stranger.is_gone) == ([], 1, False)
    client_of(a, "ann").publish("mine", b"true", persistent=True)
    net.until(lambda: heard.contents == [b"true"])


def test_trial_A4_what_a_former_way_still_holds_for_us_is_taken() -> None:
    c_ = cluster("heron", "avalon", "frodo", "bilbo", window_bytes=400, window_count=2)
    heard = c_.client("bilbo", "ear").subscribe("k", domain=RUGBY, rate=1.0)
    joe = c_.client("heron")
    c_.net.until(lambda: heard.is_confirmed)
    for n in range(6):
        joe.publish("k", b"%d" % n * 200, domain=RUGBY, persistent=True)
    c_.net.until(lambda: len(heard.got) == 6, 120)
    assert [m.content[:1] for m in heard.got] == [b"%d" % n for n in range(6)]
    assert all(c_[name].metric("unasked") == 0 for name in ("bilbo", "frodo"))


def test_trial_A4_values_that_nobody_asked_for_are_left_out_of_a_reply() -> None:
    a = SimNetwork().node("a")
    stranger = talking(a)
    client = client_of(a)
    asked = client.ask(
        lambda n: c.Call(n, "get", {"kind": "exact", "text": "k", "domain": "", "fresh": True})
    )
    a.net.run(0.2)
    [call] = [command for command in stranger.heard if isinstance(command, c.Call)]
    values = envelope("k", [b"asked"]), envelope("other", [b"not asked"])
    stranger.say(c.Reply(call.request, {"sources": [["", None, b"m" * 16]] * 2}, frames=(1, 1)), *values)
    a.net.until(lambda: asked.reply)
    assert [e.contents() for e in asked.found] == [[b"asked"]]
    assert a.metric("unasked") == 1
    stranger.say(c.Reply(call.request, {"more": False}))
    assert a.metric("unasked") == 2


@pytest.mark.parametrize(
    "value", [None, 7, [], {}, {"sources": 5}, {"sources": [["a", 0, b""]] * 2}, {"more": 1}]
)
def test_trial_A4_of_a_reply_that_cannot_be_read_nothing_counts(value: Any) -> None:
    a = SimNetwork().node("a")
    stranger = talking(a)
    asked = client_of(a).ask(lambda n: c.Call(n, "get", {"kind": "exact", "text": "k", "fresh": True}))
    a.net.run(0.2)
    [call] = [command for command in stranger.heard if isinstance(command, c.Call)]
    stranger.say(c.Reply(call.request, value, frames=(1,)), envelope("k", [b"asked"]))
    a.net.until(lambda: asked.reply)
    assert not asked.found and not stranger.is_gone
    assert a.metric("malformed") == 1


def test_trial_A4_an_erase_is_told_by_the_node_where_it_was_asked_for() -> None:
    net = SimNetwork()
    a = net.node("a")
    joe = client_of(a)
    joe.publish("k", b"1")
    joe.settled()
    stranger = talking(a)
    said = {"key": "k", "domain": "", "stream": b"e" * 16, "number": 1, "copy": False}
    for n, (sender, route) in enumerate(
        (
            ("/node/heron/client/joe/session/1", ["stranger"]),
            ("/node/heron/client/joe/session/1", ["heron"]),
            ("x" * 100_000, ["stranger"]),
            ("", []),
            ("/node/stranger/client/joe/session/1", ["stranger"] * 30),
        )
    ):
        stranger.say(c.Call(n, "erase", {**said, "sender": sender, "route": route}))
    codes = [r.code for r in stranger.heard if isinstance(r, c.Reply)]
    assert codes == ["FORGED_SENDER"] * 4 + ["TOO_MANY_HOPS"]
    assert [m.content for m in joe.get("k")] == [b"1"]
    own = {"sender": "/node/stranger/client/joe/session/1", "route": ["stranger"]}
    stranger.say(c.Call(9, "erase", {**said, **own}))
    assert joe.get("k") == []


def test_trial_A4_what_was_owed_before_the_rules_changed_still_comes() -> None:
    net = SimNetwork(3)
    a, b, _ = net.mesh("a", "b", "c")
    heard, joe = client_of(a, "ear").subscribed("k"), client_of(b, "joe")
    net.run(2)
    a.kill()
    joe.publish("k", b"owed", persistent=True)
    joe.settled()
    a._settings["rules"] = (Rule("c", keys=("k",)),)  # b is not asked any longer
    a.start()
    net.until(lambda: heard.contents == [b"owed"])
    net.run(70)
    peer = b.core.parts.neighbours.named("a")
    assert peer is not None
    late = c.Items(peer.exchange.outlet.next, (c.ItemHead(1, 0, b.uuid),))
    _say(b, "a", late, envelope("k", [b"not asked"]))
    net.run(1)
    assert (heard.contents, a.metric("unasked")) == ([b"owed"], 1)


def _say(node: SimNode, to: str, command: c.Command, *envelopes: Envelope) -> None:
    """Send a command on the data connection."""
    peer = node.core.parts.neighbours.named(to)
    assert peer is not None and peer.data is not None
    node._send(peer.data.key, write(command, envelopes))
