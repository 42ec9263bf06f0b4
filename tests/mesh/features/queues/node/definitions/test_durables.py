"""Durable subscriptions on simulated nodes: messages stay until they are acked."""

from __future__ import annotations

import pytest

from mesh.errors import QueueFull
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.node.definitions import durables
from mesh.mapping.rules import Rule
from mesh.wire.commands import REJECT
from mesh.wire.envelope import LOCAL_ONLY, PERSISTENT
from tests.mesh.features.queues.node.reader import Reader, knows, waiting
from tests.simulation import SimNetwork, SimNode


@pytest.fixture
def net() -> SimNetwork:
    return SimNetwork()


@pytest.fixture
def node(net: SimNetwork) -> SimNode:
    return net.node("heron")


def meshed(net: SimNetwork, *names: str) -> list[SimNode]:
    nodes = [net.node(name, *names[:1]) for name in names]
    net.until(lambda: all(len(node.alive) == len(names) - 1 for node in nodes))
    return nodes


# --- one node ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [0, PERSISTENT])
def test_what_matches_waits_until_somebody_acks_it_whatever_crashes(
    net: SimNetwork, node: SimNode, flags: int
) -> None:
    joe = Reader(node, "joe")
    joe.ok(joe.durable("audit"))
    for content, key in ((b"one", "birds/heron"), (b"no", "cars/a"), (b"two", "birds/egret")):
        assert joe.published(content, keys=(key,), flags=flags) == "OK"
    assert joe.info("sub/audit")["ready"] == 2
    node.kill()
    node.start()
    sue = Reader(node, "sue")
    assert sue.published(b"three") == "OK", "the binding is known again"
    sue.take("sub/audit")
    net.until(lambda: len(sue.contents()) == 3)
    assert sue.contents() == [b"one", b"two", b"three"]
    assert sue.settle(1, 2) == []
    node.kill()
    node.start()
    eve = Reader(node, "eve")
    eve.take("sub/audit")
    net.until(lambda: eve.contents())
    net.run(10)
    assert eve.contents() == [b"three"] and eve.tries[1] == [1], "and says that it may come again"


def test_of_several_keys_it_gets_what_matches_and_of_two_queries_each_message_once(
    net: SimNetwork, node: SimNode
) -> None:
    joe = Reader(node, "joe")
    joe.ok(joe.durable("audit", ("pattern", "birds/#", ""), ("exact", "birds/heron", "")))
    joe.ok(joe.durable("farm", ("pattern", "+/cow", "farm")))
    assert joe.published(b"1", b"2", b"3", keys=("birds/heron", "cars/a", "birds/b")) == "OK"
    assert (
        joe.published(b"4", keys=("big/cow",))
        == joe.published(b"5", keys=("big/cow",), domain="farm")
        == "OK"
    )
    joe.take("sub/audit", 1)
    joe.take("sub/farm", 2)
    net.until(lambda: len(joe.contents(1)) == 2 and joe.contents(2))
    net.run(5)
    assert (joe.contents(1), joe.contents(2)) == ([b"1", b"3"], [b"5"])


def test_subscribers_have_it_as_well_and_those_of_one_name_share(net: SimNetwork, node: SimNode) -> None:
    joe, sue, ear = (Reader(node, name) for name in ("joe", "sue", "ear"))
    joe.ok(joe.durable("audit"))
    joe.ok(sue.durable("audit"))
    joe.ok(sue.durable("other"))
    joe.take("sub/audit", credit=1)
    sue.take("sub/audit", credit=1)
    ear.take("sub/other", credit=5)
    assert [joe.published(content) for content in (b"1", b"2", b"3")] == ["OK"] * 3
    net.until(lambda: joe.contents() and sue.contents() and len(ear.contents()) == 3)
    assert sorted(joe.contents() + sue.contents()) == [b"1", b"2"]
    assert ear.contents() == [b"1", b"2", b"3"]
    joe.settle(1, 1)
    net.until(lambda: len(joe.contents()) == 2)
    assert joe.contents()[1] == b"3"


def test_the_node_answers_when_it_is_on_disk_and_a_full_disk_takes_none_of_it(
    net: SimNetwork, node: SimNode
) -> None:
    joe = Reader(node, "joe")
    joe.ok(joe.durable("audit"))
    node.disk.is_full = True
    assert joe.published(b"one") == "STORE_FULL"
    node.disk.is_full = False
    assert waiting(node) == {} and joe.published(b"two") == "OK"
    assert waiting(node) == {"heron": 1}


def events(node: SimNode, kind: str = "durable") -> list[str]:
    return [row.text for row in node.core.parts.context.events.events_after(0)[0] if row.kind == kind]


def test_a_full_durable_subscription_loses_its_oldest_messages_and_refuses_nothing(
    net: SimNetwork, node: SimNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durables, "TERMS", QueueTerms(max_count=3, when_full="reject"))
    joe = Reader(node, "joe")
    joe.ok(joe.durable("audit", ("pattern", "#", "")))
    assert [joe.published(b"%d" % n) for n in range(8)] == ["OK"] * 8
    assert waiting(node) == {"heron": 3} and node.metric("durable_dropped") == 5
    net.until(lambda: any("full" in text for text in events(node)))
    net.run(30)
    (text,) = [text for text in events(node) if "full" in text]
    assert "'sub/audit' is full (3 messages" in text and "dropped its oldest messages" in text
    joe.take("sub/audit")
    net.until(lambda: len(joe.contents()) == 3)
    assert joe.contents() == [b"5", b"6", b"7"]
    assert joe.settle(1, 3) == []
    assert joe.published(b"8") == "OK"
    net.until(lambda: len(joe.contents()) == 4)
    net.until(lambda: node.metric("stored_envelopes") == 1)


def test_a_full_durable_subscription_keeps_what_its_consumer_has(
    net: SimNetwork, node: SimNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durables, "TERMS", QueueTerms(max_count=3, when_full="reject"))
    joe = Reader(node, "joe")
    joe.ok(joe.durable("audit"))
    joe.take("sub/audit", credit=2)
    assert [joe.published(b"%d" % n) for n in range(6)] == ["OK"] * 6
    assert joe.contents() == [b"0", b"1"] and joe.settle(1, 2) == []
    net.until(lambda: len(joe.contents()) == 3)
    assert joe.contents() == [b"0", b"1", b"5"]
    joe.take("sub/audit", credit=10, held=((joe.stream, (6, 6)),))
    assert [joe.published(b"%d" % n) for n in range(6, 10)] == ["OK"] * 4
    net.until(lambda: joe.contents() == [b"%d" % n for n in range(6, 10)])  # new ones come first


def test_what_a_full_durable_subscription_has_lost_does_not_come_back_with_the_node(
    net: SimNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durables, "TERMS", QueueTerms(max_count=30, when_full="reject"))
    node = net.node("heron", memory_bytes=5_000)  # most messages wait on disk only
    joe = Reader(node, "joe")
    joe.ok(joe.durable("audit"))
    assert [joe.published(b"%02d" % n) for n in range(50)] == ["OK"] * 50
    assert waiting(node) == {"heron": 30}
    net.until(lambda: node.metric("stored_envelopes") == 30)
    net.run(3)
    node.kill()
    node.start()
    assert waiting(node) == {"heron": 30}
    sue = Reader(node, "sue")
    sue.take("sub/audit", credit=40)
    net.until(lambda: len(sue.contents()) == 30)
    assert sue.contents() == [b"%02d" % n for n in range(20, 50)]


def test_with_reject_what_has_no_room_is_refused_for_all_and_named(
    net: SimNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durables, "TERMS", QueueTerms(max_count=2, when_full="reject"))
    node = net.node("heron", durable_full="reject")
    joe, ear = Reader(node, "joe"), Reader(node, "ear")
    joe.ok(joe.durable("audit"))
    ear.ok(ear.durable("birds", ("exact", "birds/heron", "")))
    numbers = [joe.posts(b"%d" % n) for n in range(3)]
    net.until(lambda: all(joe.state(n) for n in numbers))
    assert [joe.state(n) for n in numbers] == ["OK", "OK", QueueFull.code], "what is on its way counts"
    text = next(a.text for a in joe.answers if a.state == QueueFull.code)
    assert "'sub/audit' is full at heron" in text and "unsubscribe" in text
    joe.take("sub/audit")
    ear.take("sub/birds")
    net.until(lambda: len(joe.contents()) == len(ear.contents()) == 2)
    joe.settle(1, 2)
    ear.settle(1, 2)
    assert joe.published(b"again") == "OK"


def test_what_stays_at_a_node_and_what_the_mesh_says_of_itself_is_for_no_durable_subscription(
    net: SimNetwork, node: SimNode
) -> None:
    joe = Reader(node, "joe")
    joe.ok(joe.durable("all", ("pattern", "#", "")))
    assert joe.published(b"mine", flags=LOCAL_ONLY) == "OK"
    net.run(5)
    assert waiting(node, name="all") == {}
    refused = joe.durable("dead", ("pattern", "__sys__dead/#", ""))
    assert refused.code == "BAD_QUERY" and "reserved for the mesh" in refused.text


def test_nobody_puts_into_one_and_what_is_dead_in_one_is_a_dead_letter(
    net: SimNetwork, node: SimNode
) -> None:
    joe = Reader(node, "joe")
    joe.ok(joe.durable("audit", ("pattern", "#", "")))
    number = joe.put("sub/audit", b"one")
    net.until(lambda: joe.state_of("sub/audit", number))
    assert joe.state_of("sub/audit", number) == "BAD_NAME" and waiting(node) == {}
    assert joe.declare_refused("sub/audit") == "BAD_NAME"
    assert joe.ask("queue_remove", name="sub/audit", if_unused=False).code == "BAD_NAME"
    joe.published(b"two")
    joe.take("sub/audit")
    net.until(lambda: joe.contents())
    joe.settle(entries=((1, 1, REJECT, 0, "bad"),))
    net.until(lambda: node.metric("dead") == 1)
    assert waiting(node) == {}, "and comes back by no circle"


@pytest.mark.parametrize(
    ("name", "queries", "code"),
    [
        ("", [("exact", "a", "")], "BAD_NAME"),
        ("a/#", [("exact", "a", "")], "BAD_NAME"),
        ("sub/a", [("exact", "a", "")], "BAD_NAME"),
        ("x" * 197, [("exact", "a", "")], "BAD_NAME"),
        ("a", [], "BAD_QUERY"),
        ("a", [("exact", "", "")], "BAD_KEY"),
        ("a", [("pattern", "a/#/b", "")], "BAD_QUERY"),
        ("a", [("xpath", "//a", "")], "BAD_QUERY"),
        ("a", [("exact", "a", "x" * 300)], "BAD_KEY"),
        ("a", [("exact", f"k{n}", "") for n in range(65)], "BAD_QUERY"),
        ("a", "nonsense", "BAD_QUERY"),
    ],
)
def test_what_cannot_be_declared_is_refused_by_name(
    node: SimNode, name: str, queries: object, code: str
) -> None:
    joe = Reader(node, "joe")
    assert joe.ask("durable", name=name, queries=queries).code == code
    assert node.metric("durable_subscriptions") == 0


# --- several nodes ----------------------------------------------------------------------------------------


def test_when_it_is_declared_every_node_has_it_on_disk(net: SimNetwork) -> None:
    nodes = meshed(net, "a", "b", "d")
    joe = Reader(nodes[0], "joe")
    joe.ok(joe.durable("audit"))
    assert [knows(node) for node in nodes] == [True] * 3
    for node in nodes[1:]:
        node.kill()
        node.start()
        assert knows(node)
    for node in nodes:
        assert Reader(node, f"at-{node.name}").published(b"one") == "OK"
    assert waiting(*nodes) == {"a": 1, "b": 1, "d": 1}, "each is master of what its clients publish"


def test_another_definition_is_refused_by_its_differences_and_the_same_does_no_harm(net: SimNetwork) -> None:
    a, b = meshed(net, "a", "b")
    joe, sue = Reader(a, "joe"), Reader(b, "sue")
    joe.ok(joe.durable("audit", ("pattern", "birds/#", ""), ("exact", "cats", "")))
    sue.ok(sue.durable("audit", ("exact", "cats", ""), ("pattern", "birds/#", "")))
    refused = sue.durable("audit", ("exact", "dogs", "farm"))
    assert refused.code == "QUEUE_EXISTS"
    assert "has the queries birds/#, cats, not dogs in domain farm" in refused.text


def test_who_was_away_learns_it_before_he_takes_anything(net: SimNetwork) -> None:
    a, b = meshed(net, "a", "b")
    b.close()
    net.run(5)
    joe = Reader(a, "joe")
    joe.ok(joe.durable("audit"))
    b.start()
    sue = Reader(b, "sue")
    assert sue.published(b"early") == "OK"
    assert waiting(b) == {"b": 1}


def test_it_is_removed_everywhere_and_only_while_nobody_takes_anywhere(net: SimNetwork) -> None:
    a, b, d = nodes = meshed(net, "a", "b", "d")
    joe, sue = Reader(a, "joe"), Reader(b, "sue")
    joe.ok(joe.durable("audit"))
    sue.take("sub/audit")
    assert joe.remove("audit").code == "QUEUE_IN_USE"
    sue.leave("sub/audit")
    Reader(d, "eve").published(b"one")
    sue.published(b"two", b"three")
    assert joe.ok(joe.remove("audit")) == {"removed": 3}
    assert not any(map(knows, nodes)) and waiting(*nodes) == {}
    assert joe.remove("audit").code == "NO_QUEUE" and sue.take("sub/audit").code == "NO_QUEUE"
    d.kill()
    d.start()
    assert sue.published(b"four") == "OK" and Reader(d, "zoe").published(b"five") == "OK"
    assert sue.answers[-1].matched == 0, "nobody wants it"
    net.run(5)
    assert waiting(*nodes) == {} and all(node.metric("stored_envelopes") == 0 for node in nodes)


def test_who_was_away_when_it_was_removed_gives_it_up(net: SimNetwork) -> None:
    a, b = meshed(net, "a", "b")
    joe = Reader(a, "joe")
    joe.ok(joe.durable("audit"))
    Reader(b, "sue").published(b"one")
    b.close()
    net.run(10)
    assert joe.ok(joe.ask("durable_remove", name="audit", if_unused=False)) == {"removed": 0}
    b.start()
    net.until(lambda: not knows(b))
    assert waiting(b) == {}


def test_a_node_declares_so_many_and_no_more(
    net: SimNetwork, node: SimNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durables, "MOST", 2)
    joe = Reader(node, "joe")
    assert [joe.durable(name).code for name in ("a", "b", "d")] == ["", "", "TOO_MANY_QUEUES"]
    joe.ok(joe.remove("a"))
    joe.ok(joe.durable("d"))


# --- where not all nodes are linked -----------------------------------------------------------------------


def in_a_row(net: SimNetwork, *rules: Rule) -> list[SimNode]:
    """Create bilbo, frodo and heron. Only frodo is linked to both others, which know of each other."""
    known = {"frodo": ("bilbo", "heron"), "bilbo": ("frodo",), "heron": ("frodo",)}
    nodes = [net.node(n, "frodo", links="configured", known=near, rules=rules) for n, near in known.items()]
    net.until(lambda: all(len(node.alive) == 2 for node in nodes))
    return nodes


@pytest.mark.parametrize(
    ("rules", "refused"),
    [
        ((), ("bilbo", "heron")),  # each is master of its own clients' messages
        ((Rule("heron", domains=("NEWS",)),), ("bilbo",)),
        ((Rule("heron", domains=("NEWS",)), Rule("frodo", 1, ("NEWS",))), ("bilbo",)),
        ((Rule("frodo", 1, ("NEWS",), refid="heron"),), ("bilbo",)),
        ((Rule("frodo", 1, ("NEWS",)),), ("bilbo", "heron")),  # no rule names a master behind it
        ((Rule("frodo", domains=("NEWS",)),), ()),
    ],
)
def test_it_is_refused_where_what_is_kept_elsewhere_could_not_come(
    net: SimNetwork, rules: tuple[Rule, ...], refused: tuple[str, ...]
) -> None:
    for node in in_a_row(net, *rules):
        said = Reader(node, "joe").durable("audit", ("pattern", "birds/#", "NEWS"))
        assert (said.code or "OK") == ("NOT_LINKED" if node.name in refused else "OK")
        if node.name == "bilbo" and refused:
            assert "'audit'" in said.text and "heron" in said.text


@pytest.mark.parametrize("durable_full", ["drop_oldest", "reject"])
def test_the_terms_name_what_a_full_subscription_does(net: SimNetwork, durable_full: str) -> None:
    joe = Reader(net.node("heron", durable_full=durable_full), "joe")
    joe.ok(joe.durable("audit"))
    assert joe.info("sub/audit")["terms"]["when_full"] == durable_full
