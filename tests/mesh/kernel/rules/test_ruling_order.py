"""Rules change while messages flow: nothing is lost, doubled or out of order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from mesh.kernel.rules.ruling import SWITCH
from mesh.mapping.rules import Rule
from mesh.routing import decision_table
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.rules.changing import AVALON, FRODO, HERON, D, adopt, flow, mesh
from tests.seeds import scenarios
from tests.simulated_client import client_of


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_beside_what_has_several_masters_other_rules_change_while_messages_flow(seed: int) -> None:
    """D moves from heron to avalon. BOTH always has both as masters, and OURS frodo with a backup."""
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


@pytest.mark.slow  # the random test below finds most of this
@pytest.mark.parametrize("publisher", ["frodo", "bilbo"])
def test_files_that_are_read_again_and_back_within_seconds_keep_each_publishers_order(publisher: str) -> None:
    """The second change takes effect while messages wait that a loop of the first one returned."""
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


def test_what_goes_to_a_new_master_waits_for_what_the_one_before_passes_on() -> None:
    """The former master learns of the change before the new one, which sends its messages back."""
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


@pytest.mark.parametrize("rules", scenarios([(Rule("bilbo", domains=(D,)),), ()]))
def test_a_new_master_takes_nothing_before_what_waits_there(
    rules: Sequence[Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node handles the rest of the waiting messages in later turns."""
    monkeypatch.setattr(decision_table, "LOOKS", 4)
    net, (heron, _, bilbo, _) = mesh(HERON)
    pub, ear = client_of(bilbo, "pub"), client_of(bilbo, "ear").subscribed("k", domain=D)
    heron.kill()
    net.until(lambda: "heron" not in bilbo.alive)
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


@pytest.mark.parametrize("seed", scenarios(range(12)))
def test_nothing_is_lost_or_doubled_or_out_of_order_whatever_changes_when(seed: int) -> None:
    rng = random.Random(seed)
    net, nodes = mesh(HERON, seed=seed)
    pubs = [client_of(node, f"pub{node.name}") for node in nodes]
    ears = [client_of(node, f"ear{node.name}").subscribed("k", domain=D) for node in nodes]
    count = 0
    for _ in range(3):
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


@pytest.mark.parametrize("ends", scenarios(["link", "process"]))
def test_what_a_master_took_and_did_not_answer_is_not_given_again_when_it_is_master_no_more(
    ends: str,
) -> None:
    """Seeds 208 and 219 of rules, in which the message was delivered twice."""
    net, nodes = mesh(HERON)
    heron, avalon, bilbo, frodo = nodes
    ear, pub = client_of(frodo, "ear").subscribed("k", domain=D), client_of(bilbo, "pub")
    pub.publish("k", b"1", domain=D, persistent=True)
    net.until(lambda: heron.metric("published") == 1)
    net.cut("heron", "bilbo")  # while its disk writes
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
