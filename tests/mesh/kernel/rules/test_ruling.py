"""Rules change while messages flow: nothing is lost, doubled, or sent to a wrong node."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mesh.discovery.state import Summary
from mesh.errors import BadXPath
from mesh.kernel.rules.ruling import SWITCH
from mesh.mapping.agreed import NONE, Agreed, AgreedNode
from mesh.mapping.rules import Rule
from mesh.routing.interest import LINGER
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.rules.changing import AVALON, ENDS, HERON, D, adopt, contents, mesh
from tests.seeds import scenarios
from tests.simulated_client import client_of

pytestmark = pytest.mark.usefixtures("short_periods")


def test_what_is_published_after_the_change_goes_to_the_new_master() -> None:
    net, (heron, avalon, bilbo, frodo) = mesh(HERON)
    pub = client_of(bilbo, "pub")
    pub.publish("k", b"1", domain=D)
    pub.settled()
    for node in (heron, avalon, bilbo, frodo):
        adopt(node, AVALON)
    net.run(SWITCH + 1)
    pub.publish("k", b"2", domain=D)
    assert pub.settled().state(2, D) == "OK"
    assert avalon.core.parts.router.log.retained.get("k", D) is not None
    assert contents(client_of(bilbo, "x")) == [b"2"]


def test_xpaths_of_a_file_that_take_too_long_beside_those_of_all_are_refused() -> None:
    _, (heron, *_) = mesh(HERON)
    many = (Rule("bilbo", xpaths=tuple(f"//*[.//b[@c='{n}']]" for n in range(30))),)
    adopt(heron, many)
    with pytest.raises(BadXPath, match="nodes for one message"):
        heron.core.parts.ruling.share(
            Agreed({"frodo": AgreedNode((Rule("frodo", xpaths=many[0].xpaths),))}), Summary("rules", 1, b"")
        )
    assert heron.core.parts.ruling.agreed == NONE


def test_what_is_sent_to_a_dead_master_holds_up_nothing_at_the_new_one() -> None:
    net, (heron, avalon, _, frodo) = mesh(HERON)
    pub, onward = client_of(avalon, "pub"), avalon.core.parts.forwarder.onward
    net.run(1)
    pub.publish("k", b"1", domain=D, persistent=True)
    net.until(lambda: any(onward.is_under_way(entry, "heron") for entry in onward.entries()))
    heron.kill()
    net.until(lambda: "heron" not in avalon.alive)
    for node in (avalon, frodo):
        adopt(node, AVALON)
    net.run(SWITCH + 1)
    pub.publish("k", b"2", domain=D, persistent=True)
    net.until(lambda: pub.state(2, D) == "OK", limit=2)


def test_what_waits_for_a_dead_master_goes_to_the_new_one() -> None:
    net, (heron, avalon, bilbo, _) = mesh(HERON)
    pub = client_of(bilbo, "pub")
    heron.kill()
    net.until(lambda: "heron" not in bilbo.alive)
    for n in range(3):
        pub.publish("k", b"%d" % n, domain=D, persistent=True)
    assert pub.settled().state(3, D) == "FORWARD_WARNING"
    adopt(avalon, AVALON)
    adopt(bilbo, AVALON)
    net.until(lambda: [pub.state(n, D) for n in (1, 2, 3)] == ["OK"] * 3)
    assert avalon.core.parts.router.log.retained.get("k", D) is not None
    assert bilbo.metric("tailed_back") == 0
    bilbo.restart()
    net.run(5)
    assert bilbo.metric("tailed_back") == 0, "nothing of it stayed on the disk"


def test_a_subscriber_hears_the_new_master_and_still_the_old_one() -> None:
    net, (_, avalon, bilbo, frodo) = mesh(HERON)
    ear = client_of(frodo, "ear").subscribed("k", domain=D)
    adopt(frodo, AVALON)
    net.run(1)
    old, new = client_of(bilbo, "old"), client_of(avalon, "new")
    old.publish("k", b"old", domain=D)
    old.settled()
    net.until(lambda: ear.contents == [b"old"])
    adopt(avalon, AVALON)
    net.run(SWITCH + 1)
    new.publish("k", b"new", domain=D)
    new.settled()
    net.until(lambda: ear.contents == [b"old", b"new"])


def test_ways_of_rules_that_counted_within_a_minute_are_named_the_newest_first() -> None:
    net, (_, _, _, frodo) = mesh(HERON)
    for way in ("bilbo", "avalon"):
        adopt(frodo, (Rule(way, 1, (D,)), *HERON))
        net.run(SWITCH + 1)
    adopt(frodo, HERON)
    net.run(SWITCH + 1)
    assert list(frodo.core.parts.ways.names) == ["avalon", "bilbo", "heron"]
    net.run(ENDS)
    assert list(frodo.core.parts.ways.names) == ["heron"]


@pytest.mark.slow
def test_from_no_rules_to_some_and_back() -> None:
    net, nodes = mesh(())
    heron, _, bilbo, frodo = nodes
    pub, ear = client_of(bilbo, "pub"), client_of(frodo, "ear").subscribed("k", domain=D)
    for n, rules in enumerate(((), HERON, (), AVALON)):
        for node in (frodo, heron, *nodes):
            adopt(node, rules)
        net.run(SWITCH + 1)
        pub.publish("k", b"%d" % n, domain=D)
        assert pub.settled().state(n + 1, D) == "OK", n
        net.run(1)
    assert ear.contents == [b"0", b"1", b"2", b"3"]


def test_a_node_that_becomes_a_way_hands_on_what_it_was_asked_for_before() -> None:
    net, nodes = mesh(())
    heron, _, bilbo, frodo = nodes
    adopt(bilbo, (Rule("frodo", 1, (D,)),))
    ear = client_of(bilbo, "ear").subscribed("k", domain=D)
    adopt(frodo, HERON)
    adopt(heron, HERON)
    net.run(SWITCH + ENDS + 10)
    pub = client_of(heron, "pub")
    pub.publish("k", b"1", domain=D)
    pub.settled()
    net.until(lambda: ear.contents == [b"1"])


@pytest.mark.slow
def test_a_node_that_becomes_a_way_long_after_the_others_hands_on_what_it_was_asked_for() -> None:
    net, nodes = mesh(())
    heron, _, bilbo, frodo = nodes
    adopt(bilbo, (Rule("frodo", 1, (D,)),))
    ear = client_of(bilbo, "ear").subscribed("k", domain=D)
    net.run(SWITCH + ENDS + 10)
    adopt(frodo, HERON)
    adopt(heron, HERON)
    net.run(SWITCH + 1)
    pub = client_of(heron, "pub")
    pub.publish("k", b"1", domain=D)
    pub.settled()
    net.until(lambda: ear.contents == [b"1"])


def test_all_that_goes_by_rules_goes_by_the_new_ones() -> None:
    net, nodes = mesh(HERON)
    bilbo = nodes[2]
    parts = bilbo.core.parts
    ear = client_of(bilbo, "ear").subscribed("k", domain=D)
    pub = client_of(bilbo, "pub")
    pub.publish("k", b"1", domain=D)
    net.until(lambda: ear.contents == [b"1"] and len(parts.router.cache.values) == 1)
    bilbo.core._at(net.now, net.wall)
    parts.ruling.set_rules(AVALON, ("avalon",))
    bilbo._carry_out_all()
    assert parts.nodes.named_ones == {"avalon"}, "beside those before, of which are missing"
    assert set(parts.gossiping._balanced) == {"heron", "avalon"}
    net.run(SWITCH + 1)
    assert parts.router.items.keeps_cache and len(parts.router.cache.values) == 0
    assert set(parts.gossiping._balanced) == {"heron", "avalon"}, "by heron something may be under way"
    net.run(ENDS + 1)
    assert set(parts.gossiping._balanced) == {"avalon"}
    parts.ruling.set_rules((), ("frodo",))
    assert parts.nodes.named_ones == {"avalon", "frodo"}
    net.run(SWITCH + 1)
    assert parts.nodes.named_ones == {"frodo"} and not parts.router.items.keeps_cache


def test_queries_that_had_the_same_sources_may_have_different_ones() -> None:
    net, (_, avalon, _, frodo) = mesh(HERON)
    ear = client_of(frodo, "ear")
    one, two = ear.subscribed("k1", domain=D), ear.subscribed("k2", domain=D)
    for node in (frodo, avalon):
        adopt(node, (*HERON, Rule("avalon", keys=("k2",))))
    net.run(SWITCH + 1)
    pub = client_of(avalon, "pub")
    pub.publish("k1", b"1", domain=D)
    pub.publish("k2", b"2", domain=D)
    pub.settled()
    net.until(lambda: (one.contents, two.contents) == ([b"1"], [b"2"]))


@pytest.mark.parametrize("soon", scenarios([0.5, SWITCH + 1]))
def test_who_still_goes_by_rules_of_some_changes_ago_is_asked(soon: float) -> None:
    """Seed 7300394 of rules, in which an accepted message was lost."""
    net, nodes = mesh(())
    _, _, bilbo, frodo = nodes
    ear, pub = client_of(frodo, "ear").subscribed("k", domain=D), client_of(bilbo, "pub")
    for rules in (HERON, AVALON, HERON):
        for node in nodes[:2] + nodes[3:]:  # bilbo adopts none of them
            adopt(node, rules)
        net.run(soon)
    pub.publish("k", b"1", domain=D, persistent=True)
    pub.settled()
    assert bilbo.metric("published") == 1
    net.until(lambda: ear.contents == [b"1"])
    net.run(SWITCH + ENDS + 1)
    assert frodo.core.parts.demand.is_changing is False
    assert set(frodo.core.parts.gossiping._balanced) == {"heron"}


def test_what_was_to_count_and_was_replaced_before_may_count_elsewhere() -> None:
    net, nodes = mesh(HERON)
    _, avalon, bilbo, frodo = nodes
    ear, pub = client_of(frodo, "ear").subscribed("k", domain=D), client_of(bilbo, "pub")
    for rules in (AVALON, HERON):
        adopt(frodo, rules)
        net.run(1)
    net.run(LINGER + 1)
    for node in (avalon, bilbo):
        adopt(node, AVALON)
    net.run(SWITCH + 1)
    pub.publish("k", b"1", domain=D, persistent=True)
    pub.settled()
    assert avalon.metric("published") == 1
    net.until(lambda: ear.contents == [b"1"])


def test_a_circle_while_rules_spread_is_no_last_word_for_who_has_not_read_them() -> None:
    net, (heron, avalon, _, _) = mesh(HERON)
    adopt(heron, AVALON)
    net.run(SWITCH + 1)
    pub = client_of(avalon, "pub")
    pub.publish("k", b"1", domain=D, persistent=True)
    net.run(2)
    adopt(avalon, AVALON)
    net.until(lambda: pub.state(1, D) == "OK", 40)


@pytest.mark.slow
def test_a_circle_while_rules_spread_is_tried_again_by_who_has_the_new_ones() -> None:
    net, (heron, avalon, bilbo, _) = mesh(HERON)
    for node in (heron, bilbo):
        adopt(node, AVALON)
    net.run(SWITCH + 1)
    pub = client_of(bilbo, "pub")
    pub.publish("k", b"1", domain=D, persistent=True)
    net.run(2)
    assert pub.state(1, D) == "FORWARD_WARNING"
    adopt(avalon, AVALON)
    net.until(lambda: pub.state(1, D) == "OK", 30)


def test_rules_that_go_on_leading_in_a_circle_refuse_in_the_end() -> None:
    net, (heron, avalon, bilbo, _) = mesh(HERON)
    adopt(heron, AVALON)
    net.run(SWITCH + 1)
    pub = client_of(bilbo, "pub")
    pub.publish("k", b"1", domain=D)
    net.until(lambda: pub.state(1, D) == "CIRCULAR_LOOP", 120)
    assert [node.metric("tailed_back") for node in (heron, avalon, bilbo)] == [0, 0, 0]


def test_a_letter_that_was_perhaps_sent_before_goes_by_the_new_rules() -> None:
    """Seeds 7300248 and 7300305 of rules, in which the message waited forever."""
    net, nodes = mesh(())
    bilbo, pub = nodes[2], client_of(nodes[2], "pub")
    pub.connected().core.sender.elsewhere = {D: 1}  # the client reports that it may have sent that before
    for node in nodes:
        adopt(node, HERON)
    net.run(SWITCH - 0.5)
    for other in ("heron", "avalon", "frodo"):
        net.cut("bilbo", other)
    pub.send("/node/nowhere/client/nobody/session/1", b"1", domain=D, persistent=True)
    net.until(lambda: pub.state(1, D) == "FORWARD_WARNING")  # the nodes that are asked do not answer
    net.run(5)
    net.heal()
    net.until(lambda: pub.state(1, D) == "UNKNOWN_NODE")
    assert bilbo.metric("tailed_back") == bilbo.metric("stored_envelopes") == 0


def test_what_waits_goes_by_the_new_rules_also_where_its_publisher_had_come_back_before() -> None:
    net, nodes = mesh(HERON)
    heron, avalon, bilbo, _ = nodes
    pub, ear = client_of(bilbo, "pub").connected(), client_of(avalon, "ear").subscribed("k", domain=D)
    heron.close()
    net.run(10)
    net.break_all(pub.name)
    net.run(3)
    pub.publish("k", b"1", domain=D, persistent=True)
    net.until(lambda: pub.state(1, D) == "FORWARD_WARNING")
    for node in nodes[1:]:
        adopt(node, AVALON)
    net.run(SWITCH + 1)
    pub.publish("k", b"2", domain=D, persistent=True)
    net.until(lambda: ear.contents == [b"1", b"2"])
    assert pub.state(1, D) == "OK"


def test_of_an_envelope_that_a_master_took_in_part_the_rest_goes_to_the_next() -> None:
    net, nodes = mesh(HERON)
    heron, avalon, _, frodo = nodes
    ear, pub = client_of(frodo, "ear").subscribed("k", domain=D), client_of(heron, "pub")
    pub.publish("k", b"1", domain=D)
    pub.settled()
    for node in nodes:
        adopt(node, AVALON)
    net.run(SWITCH + 1)
    sender = next(iter(heron.core.parts.clients.sessions.values())).text
    again = replace(envelope("k k k", stream=pub.stream, domain=D), sender=sender)
    heron.core._at(net.now, net.wall)
    heron.core.parts.forwarder.publish(again)
    heron._carry_out_all()
    net.until(lambda: len(ear.contents) == 3)
    assert (heron.metric("published"), avalon.metric("published")) == (1, 2)
