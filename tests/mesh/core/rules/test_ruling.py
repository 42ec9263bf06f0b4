"""What if rules change while messages flow: is anything lost, doubled, or sent where it does not belong?"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from discovery.state import Summary
from mesh.core.forwarding import putoff
from mesh.core.rules import ruling
from mesh.core.rules.ruling import SWITCH
from mesh.errors import BadXPath
from mesh.mapping.agreed import NONE, Agreed, AgreedNode
from mesh.mapping.rules import Rule
from mesh.routing import rulings
from mesh.routing.interest import LINGER
from tests.mesh.envelopes import envelope
from tests.seeds import stories
from tests.simulated_client import SimClient, Subscription, client_of
from tests.simulation import SimNetwork, SimNode

D = "D"
ENDS = 10.0  # s; less than in the product, to simulate less
HERON, AVALON = (Rule("heron", domains=(D,)),), (Rule("avalon", domains=(D,)),)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the periods after a change of rules."""
    monkeypatch.setattr(ruling, "ENDS", ENDS)
    monkeypatch.setattr(putoff, "LATELY", ENDS)


def adopt(node: SimNode, rules: Sequence[Rule]) -> None:
    """As its file says from now on, and after a restart."""
    node._settings["rules"] = tuple(rules)
    node.core._at(node.net.now, node.net.wall)
    node.core.parts.ruling.adopt(rules, ())
    node._carry_out_all()


def mesh(*rules: Sequence[Rule], seed: int = 1) -> tuple[SimNetwork, list[SimNode]]:
    """heron, avalon and two more, bilbo and frodo, with rules of their own."""
    net = SimNetwork(seed)
    nodes = net.mesh("heron", "avalon", "bilbo", "frodo", rules=tuple(rules[0]))
    return net, nodes


def contents(client: SimClient, domain: str = D) -> list[bytes]:
    return [message.content for message in client.get("k", domain=domain)]


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_beside_what_has_several_masters_other_rules_change_while_messages_flow(seed: int) -> None:
    """D goes from heron to avalon; BOTH has both, before and after, and OURS frodo with a backup."""
    both = (Rule("heron", domains=("BOTH",)), Rule("avalon", domains=("BOTH",)))
    ours = (Rule("frodo", domains=("OURS",)), Rule("bilbo", domains=("OURS",), backup=True))
    net, nodes = mesh((*HERON, *both, *ours), seed=seed)
    bilbo, frodo = nodes[2], nodes[3]
    pub, ear = client_of(bilbo, "pub"), client_of(frodo, "ear")
    heard = [ear.subscribed("k", domain=domain) for domain in (D, "BOTH", "OURS")]
    for number in range(30):
        for domain in (D, "BOTH", "OURS"):
            pub.publish("k", b"%d" % number, domain=domain, persistent=bool(number % 2))
        net.run(0.5)
        for node in random.Random(seed).sample(nodes, 4) if number == 8 else ():
            adopt(node, (*AVALON, *both, *ours))
            net.run(0.02)
    net.run(SWITCH + 1)
    for subscription in heard:
        assert subscription.contents == [b"%d" % number for number in range(30)]
    avalon = nodes[1].core.parts.router.log.retained
    assert avalon.get("k", D) is not None and avalon.get("k", "BOTH") is not None


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 1, 3])
def test_what_the_new_master_has_sent_to_the_one_before_comes_back_before_it_takes_more(seed: int) -> None:
    """Nodes read their files one after the other, the new master last."""
    net, nodes = mesh(HERON, seed=seed)
    pub, ear = client_of(nodes[2], "pub"), client_of(nodes[3], "ear").subscribed("k", domain=D)
    for number in range(30):
        pub.publish("k", b"%d" % number, domain=D, persistent=bool(number % 2))
        if 8 <= number < 12:
            adopt(nodes[(2 + number) % 4], AVALON)
        net.run(0.5)
    net.until(lambda: len(ear.contents) == 30)
    assert ear.contents == [b"%d" % number for number in range(30)]


FRODO = (Rule("frodo", domains=(D,)),)


def flow(net: SimNetwork, pub: SimClient, ear: Subscription, first: int, messages: int) -> float:
    """Publish one each 0.1 s, the first with this number; the longest way of any that came meanwhile."""
    came, longest = len(ear.contents), 0.0
    for number in range(first, first + messages):
        pub.publish("k", b"%d" % number, domain=D, persistent=bool(number % 2))
        net.run(0.1)
        for content in ear.contents[came:]:
            longest = max(longest, (number + 1 - int(content)) / 10)
        came = len(ear.contents)
    return longest


@pytest.mark.slow  # the random test below finds most of this
@pytest.mark.parametrize("publisher", ["frodo", "bilbo"])
def test_files_that_are_read_again_and_back_within_seconds_keep_each_publishers_order(publisher: str) -> None:
    """The second change counts while what came back from a circle of the first one waits."""
    net, (heron, avalon, bilbo, frodo) = mesh(HERON)
    pub = client_of(bilbo if publisher == "bilbo" else frodo, "pub")
    ear = client_of(bilbo, "ear").subscribed("k", domain=D)
    sent, longest = 0, 0.0
    for rules, order, apart, after in (
        (FRODO, (heron, frodo, bilbo, avalon), 7, 42),
        (HERON, (avalon, frodo, heron, bilbo), 1, 80),
    ):
        for node in order:
            adopt(node, rules)
            longest = max(longest, flow(net, pub, ear, sent, apart))
            sent += apart
        longest = max(longest, flow(net, pub, ear, sent, after))
        sent += after
    net.until(lambda: len(ear.contents) == sent)
    assert ear.contents == [b"%d" % number for number in range(sent)]
    assert longest <= 1.0, "and little is late"


@pytest.mark.slow
def test_what_waits_for_a_node_that_reads_last_is_soon_there_when_it_has() -> None:
    net, (heron, avalon, bilbo, frodo) = mesh(HERON)
    pub, ear = client_of(frodo, "pub"), client_of(bilbo, "ear").subscribed("k", domain=D)
    for i, node in enumerate((heron, avalon, bilbo, frodo)):
        adopt(node, FRODO)
        flow(net, pub, ear, 7 * i, 7)
    flow(net, pub, ear, 28, 50)
    net.run(1)
    assert ear.contents == [b"%d" % number for number in range(78)]


def test_what_goes_to_a_new_master_waits_for_what_the_one_before_passes_on() -> None:
    """He knows of the change before the new one does, to whom it comes back."""
    net, (heron, avalon, bilbo, frodo) = mesh(HERON)
    pub, ear = client_of(avalon, "pub"), client_of(bilbo, "ear").subscribed("k", domain=D)
    adopt(heron, FRODO)
    flow(net, pub, ear, 0, 3)
    adopt(avalon, FRODO)
    flow(net, pub, ear, 3, 10)
    adopt(frodo, FRODO)
    flow(net, pub, ear, 13, 70)
    net.until(lambda: len(ear.contents) == 83)
    assert ear.contents == [b"%d" % number for number in range(83)]


@pytest.mark.parametrize("rules", stories([(Rule("bilbo", domains=(D,)),), ()]))
def test_a_new_master_takes_nothing_before_what_waits_there(
    rules: Sequence[Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees to the rest of that in later turns."""
    monkeypatch.setattr(rulings, "LOOKS", 4)
    net, (heron, _, bilbo, _) = mesh(HERON)
    pub, ear = client_of(bilbo, "pub"), client_of(bilbo, "ear").subscribed("k", domain=D)
    heron.kill()
    net.run(30)
    for number in range(30):
        pub.publish("k", b"%d" % number, domain=D)
    pub.settled()
    forwarder = bilbo.core.parts.forwarder
    adopt(bilbo, rules)
    net.until(lambda: forwarder.rulings.is_open and len(forwarder.onward) < 30)
    new = envelope("k", [b"30"], first=31, domain=D, stream=pub.stream)
    forwarder.publish(replace(new, sender=forwarder.onward.entries()[0].envelope.sender))
    net.until(lambda: len(ear.contents) == 31)
    assert ear.contents == [b"%d" % number for number in range(31)]


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
    net.run(30)
    for node in (avalon, frodo):
        adopt(node, AVALON)
    net.run(SWITCH + 1)
    pub.publish("k", b"2", domain=D, persistent=True)
    net.until(lambda: pub.state(2, D) == "OK", limit=2)


def test_what_waits_for_a_dead_master_goes_to_the_new_one() -> None:
    net, (heron, avalon, bilbo, _) = mesh(HERON)
    pub = client_of(bilbo, "pub")
    heron.kill()
    net.run(30)
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
    parts.ruling.adopt(AVALON, ("avalon",))
    bilbo._carry_out_all()
    assert parts.nodes.named_ones == {"avalon"}, "beside those before, of which there are none"
    assert set(parts.gossiping._balanced) == {"heron", "avalon"}
    net.run(SWITCH + 1)
    assert parts.router._keeps_cache and len(parts.router.cache.values) == 0
    assert set(parts.gossiping._balanced) == {"heron", "avalon"}, "by heron something may be under way"
    net.run(ENDS + 1)
    assert set(parts.gossiping._balanced) == {"avalon"}
    parts.ruling.adopt((), ("frodo",))
    assert parts.nodes.named_ones == {"avalon", "frodo"}
    net.run(SWITCH + 1)
    assert parts.nodes.named_ones == {"frodo"} and not parts.router._keeps_cache


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


@pytest.mark.parametrize("soon", stories([0.5, SWITCH + 1]))
def test_who_still_goes_by_rules_of_some_changes_ago_is_asked(soon: float) -> None:
    """So does the story 7300394 of rules go, which lost what it took."""
    net, nodes = mesh(())
    _, _, bilbo, frodo = nodes
    ear, pub = client_of(frodo, "ear").subscribed("k", domain=D), client_of(bilbo, "pub")
    for rules in (HERON, AVALON, HERON):
        for node in nodes[:2] + nodes[3:]:  # and bilbo hears of none
            adopt(node, rules)
        net.run(soon)
    pub.publish("k", b"1", domain=D, persistent=True)
    pub.settled()
    assert bilbo.metric("published") == 1
    net.until(lambda: ear.contents == [b"1"])
    net.run(SWITCH + ENDS + 1)
    assert frodo.core.parts.demand._beside == ()
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


@pytest.mark.parametrize("seed", stories(range(12)))
def test_nothing_is_lost_or_doubled_or_out_of_order_whatever_changes_when(seed: int) -> None:
    rng = random.Random(seed)
    net, nodes = mesh(HERON, seed=seed)
    pubs = [client_of(node, f"pub{node.name}") for node in nodes]
    ears = [client_of(node, f"ear{node.name}").subscribed("k", domain=D) for node in nodes]
    count = 0
    for _ in range(4):
        rules = rng.choice([HERON, AVALON])
        for node in rng.sample(nodes, len(nodes)):
            for pub in rng.sample(pubs, 2):
                count += 1
                pub.publish("k", b"%s %d" % (pub.session_name.encode(), count), domain=D, persistent=True)
            net.run(rng.choice([0.0, 0.01, 0.3]))
            adopt(node, rules)
        for _ in range(5):
            pub = rng.choice(pubs)
            count += 1
            pub.publish("k", b"%s %d" % (pub.session_name.encode(), count), domain=D, persistent=True)
            net.run(rng.choice([0.5, 2.0]))
        net.run(SWITCH)
        if rng.random() < 0.4:
            one, other = rng.sample(["heron", "avalon", "bilbo", "frodo"], 2)
            net.cut(one, other)
            net.run(rng.choice([0.5, 8.0]))
            net.heal()
    for node in nodes:
        adopt(node, HERON)
    net.until(lambda: all(pub.outbox.is_through for pub in pubs), 300)
    net.run(10)
    for ear in ears:
        assert max(Counter(ear.contents).values()) == 1, "doubled"
        for pub in pubs:
            numbers = [int(m.content.split()[1]) for m in ear.got if m.sender == pub.session_name]
            assert numbers == sorted(numbers), "out of order"
    sent = {content for pub in pubs for _, content, *_ in pub.sent.values()}
    for pub in pubs:
        assert {answer.state for answer in pub.answers.values()} == {"OK"}
    for ear in ears:
        assert sent - set(ear.contents) == set(), "lost"


@pytest.mark.parametrize("ends", stories(["link", "process"]))
def test_what_a_master_took_and_did_not_answer_is_not_given_again_when_it_is_master_no_more(
    ends: str,
) -> None:
    """So do the stories 208 and 219 of rules go, which gave it twice."""
    net, nodes = mesh(HERON)
    heron, avalon, bilbo, frodo = nodes
    ear, pub = client_of(frodo, "ear").subscribed("k", domain=D), client_of(bilbo, "pub")
    pub.publish("k", b"1", domain=D, persistent=True)
    net.until(lambda: heron.metric("published") == 1)
    net.cut("heron", "bilbo")  # while its disk is at work
    net.until(lambda: ear.contents == [b"1"])
    if ends == "process":
        heron.kill()
    for node in nodes:
        if node.is_up:
            adopt(node, AVALON)
        else:
            node._settings["rules"] = AVALON
    net.run(SWITCH + 1)
    assert pub.state(1, D) in ("", "FORWARD_WARNING")
    net.heal()
    if ends == "process":
        heron.start()
    net.until(lambda: pub.state(1, D) == "OK")
    net.run(10)
    assert ear.contents == [b"1"]
    assert avalon.metric("published") == 0 and bilbo.metric("tailed_back") == 0
    pub.publish("k", b"2", domain=D, persistent=True)
    net.until(lambda: ear.contents == [b"1", b"2"])
    assert avalon.metric("published") == 1


def test_a_letter_that_was_perhaps_sent_before_goes_by_the_new_rules() -> None:
    """So do the stories 7300248 and 7300305 of rules go, in which it waited for ever."""
    net, nodes = mesh(())
    bilbo, pub = nodes[2], client_of(nodes[2], "pub")
    pub.connected().core.publisher.elsewhere = {D: 1}  # it says that it may have sent that before
    for node in nodes:
        adopt(node, HERON)
    net.run(SWITCH - 0.5)
    for other in ("heron", "avalon", "frodo"):
        net.cut("bilbo", other)
    pub.send("/node/nowhere/client/nobody/session/1", b"1", domain=D, persistent=True)
    net.until(lambda: pub.state(1, D) == "FORWARD_WARNING")  # who are asked for the way do not answer
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
