"""Messages reach their master over any route, on simulated nodes."""

import pytest
from msgspec.structs import replace

from mesh.mapping.decision import Kind
from mesh.mapping.rules import Rule
from mesh.values import Hop
from mesh.wire.envelope import LOCAL_ONLY, Envelope
from tests.mesh.kernel.masters import RUGBY, STOCK, cluster

K = "PublishToBilbo"


def test_A1_A29_what_a_slave_publishes_reaches_the_master_and_strata_count_down_to_it() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"
    (message,) = ann.get(K)
    assert message.content == b"We win"
    assert message.route == ("bilbo", "frodo", "heron")
    assert message.strata == (2, 1, 0)
    assert message.sender == joe.session_name


def test_A2_A3_the_slave_reads_once_and_erases_at_the_master() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    joe.publish(K, b"We win", domain=RUGBY)
    joe.settled()
    assert [m.content for m in joe.get(K, domain=RUGBY)] == [b"We win"]
    assert joe.erase(K, RUGBY) == [K]
    assert ann.get(K) == []


def test_what_was_decided_is_decided_anew_when_a_node_goes() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe = c.client("bilbo")
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"
    known = c["bilbo"].core.parts.forwarder.routing.deciding._known
    assert [decision.kind for decision in known.values()] == [Kind.FORWARD]
    c["frodo"].close()
    c.net.until(lambda: "frodo" not in c["bilbo"].alive)
    joe.publish(K, b"We win", domain=RUGBY)
    c.net.run(1)
    [decision] = known.values()
    assert decision.kind is Kind.WAIT


def test_A4_to_A6_a_message_waits_for_a_way_that_is_down() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = ann.subscribed(K)
    c["frodo"].close()
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "FORWARD_WARNING"
    assert ann.get(K) == []
    c["frodo"].start()
    c.net.until(lambda: joe.state(1, RUGBY) == "OK")
    c.net.until(lambda: heard.contents == [b"We win"])
    sam = c.client("frodo", "sam")
    late = sam.subscribed(K, domain=RUGBY)
    c.net.until(lambda: late.contents == [b"We win"])
    sam.unsubscribe(late)
    sam.publish(K, b"again", domain=RUGBY)
    assert sam.settled().state(1, RUGBY) == "OK"
    c.net.until(lambda: heard.contents == [b"We win", b"again"])
    assert late.contents == [b"We win"]


def test_A7_to_A9_A13_two_subscribers_of_one_slave() -> None:
    c = cluster("heron", "avalon", "frodo", "bilbo")
    one, two, out = c.client("bilbo", "one"), c.client("bilbo", "two"), c.client("avalon", "out")
    a, b = one.subscribed(K, domain=RUGBY), two.subscribed(K, domain=RUGBY)
    out.publish(K, b"1", domain=RUGBY)
    c.net.until(lambda: a.contents == b.contents == [b"1"])
    one.unsubscribe(a)
    out.publish(K, b"2", domain=RUGBY)
    c.net.until(lambda: b.contents == [b"1", b"2"])
    assert a.contents == [b"1"]
    assert out.erase(K, RUGBY) == [K]
    c.net.until(lambda: len(b.got) == 3)
    assert (b.got[2].key, b.got[2].is_erased) == (K, True)
    c.net.run(5)
    assert len(b.got) == 3


def test_what_a_way_was_not_given_is_told_to_those_behind_it() -> None:
    c = cluster("heron", "frodo", "bilbo", window_bytes=900, window_count=6)
    heard = c.client("bilbo", "ear").subscribed(K, domain=RUGBY)
    joe = c.client("heron")
    c["frodo"].kill()
    for n in range(40):
        joe.publish(K, b"%d" % n * 40, domain=RUGBY)
    joe.settled()
    c["frodo"].start()
    c.net.until(lambda: len(heard.got) > 0)
    joe.publish(K, b"last", domain=RUGBY)
    c.net.until(lambda: heard.contents[-1:] == [b"last"])
    assert 1 < len(heard.got) < 41
    assert heard.dropped == 41 - len(heard.got)


def test_trial_D_a_gap_ends_where_it_has_been_though_the_ways_of_three_domains_form_a_circle() -> None:
    names, domains = ("heron", "frodo", "bilbo"), ("A", "B", "C")
    rules = {
        name: (
            Rule(name, domains=(domains[i],)),
            Rule(names[i - 1], domains=(domains[i - 1],)),
            Rule(names[i - 1], 1, (domains[i - 2],)),
        )
        for i, name in enumerate(names)
    }
    c = cluster(*names, rules=rules, known=names)
    readers = [c.client(name, f"reader-{name}") for name in names]
    heard = [readers[i].subscribed("k", domain=domains[i - 2]) for i in range(3)]
    writers = [c.client(name, f"writer-{name}") for name in names]
    (feed,) = [
        p.exchange.feed for p in c["heron"].core.parts.neighbours.peers.values() if p.exchange.feed.queries
    ]
    feed.gap = 5
    for n in range(20):
        for writer, domain in zip(writers, domains, strict=True):
            writer.publish("k", b"%d" % n, domain=domain)
        c.net.run(0.5)
    c.net.until(lambda: all(len(s.got) == 20 for s in heard))
    assert [s.dropped for s in heard] == [0, 5, 5], "who may have missed it is told, once"
    assert all(node.metric("malformed") == 0 for node in c.nodes.values())


def test_trial_D_of_two_ways_all_subscriptions_of_a_node_go_one_though_they_overlap() -> None:
    names = ("heron", "avalon", "golan", "bilbo")
    master = Rule("heron", domains=(RUGBY,))
    two = (Rule("avalon", 1, (RUGBY,)), Rule("golan", 1, (RUGBY,)))
    rules = {"heron": (master,), "avalon": (master,), "golan": (master,), "bilbo": two}
    c = cluster(*names, rules=rules, known=names)
    joe, out = c.client("bilbo"), c.client("heron", "out")
    texts = ("#", "a", "b", "+", "a/#", "b/#", "c", "d", "e")
    heard = [joe.subscribed(pattern=text, domain=RUGBY) for text in texts]
    ways = [
        set(c["bilbo"].core.parts.demand.sources(q).hops)
        for q in c["bilbo"].core.parts.demand.interests.queries()
    ]
    assert len(ways) == len(texts) and len(set.union(*ways)) == 1
    for n in range(20):
        out.publish("a b c d e", *[b"%d" % n] * 5, domain=RUGBY, persistent=True)
    c.net.until(lambda: len(heard[0].got) == 100)
    assert [m.id[2] for m in heard[0].got] == list(range(1, 101))


def test_A28_circular_rules_are_named_with_the_path() -> None:
    x = (Rule("frodo", domains=("D",)),)
    y = (Rule("heron", domains=("D",)),)
    c = cluster("heron", "frodo", rules={"heron": x, "frodo": y}, links="any")
    joe = c.client("heron")
    joe.publish("k", b"round", domain="D")
    assert joe.settled().state(1, "D") == "CIRCULAR_LOOP"
    assert "heron -> frodo -> heron" in joe.answers["D", 1].text
    assert joe.get("k", domain="D") == []
    (steps,) = [joe.call("route", key="k", domain="D")["steps"]]
    assert [step["decision"] for step in steps] == ["forward", "refuse"]


def test_A34_accept_default_decides_where_messages_without_a_domain_live() -> None:
    def own(name: str, default: bool, other: bool) -> Rule:
        return Rule(name, domains=("D",), accept_default=default, accept_other_default=other)

    mine, theirs = own("heron", False, False), own("frodo", True, True)
    c = cluster("heron", "frodo", rules={"heron": (mine, theirs), "frodo": (theirs,)}, links="any")
    joe, ann = c.client("heron"), c.client("frodo", "ann")
    joe.publish("k", b"to frodo")
    assert joe.settled().state(1) == "OK"
    assert [m.content for m in ann.get("k")] == [b"to frodo"]
    alone = cluster("heron", "frodo", rules={"heron": (mine,), "frodo": ()}, links="any")
    sam = alone.client("heron", "sam")
    sam.publish("k", b"to whom")
    assert sam.settled().state(1) == "FORWARD_WARNING"


def test_a_message_crosses_three_strata() -> None:
    c = cluster("heron", "avalon", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("avalon", "ann")
    heard = ann.subscribed("k")
    joe.publish("k", b"buy", persistent=True, domain=STOCK)
    assert joe.settled().state(1, STOCK) == "OK"
    c.net.until(lambda: [m.route for m in heard.got] == [("bilbo", "frodo", "heron", "avalon")])


def test_messages_before_the_first_view_wait_for_it() -> None:
    c = cluster("heron", "frodo", "bilbo")
    c["bilbo"].kill()
    c["bilbo"].start()
    joe = c.client("bilbo")
    joe.publish("k", b"early", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"
    assert not joe.warned


def test_an_envelope_is_cut_where_its_messages_have_different_masters() -> None:
    here = Rule("heron", keys=("mine",))
    there = Rule("frodo", domains=("D",))
    c = cluster("heron", "frodo", rules={"heron": (here, there), "frodo": (here, there)}, links="any")
    joe, ann = c.client("heron"), c.client("frodo", "ann")
    heard = ann.subscribed(pattern="#", domain="D")
    joe.publish("mine yours yours mine yours", b"0", b"1", b"2", b"3", b"4", persistent=True, domain="D")
    joe.settled()
    assert {joe.state(n, "D") for n in range(1, 6)} == {"OK"}
    c.net.until(lambda: len(heard.got) == 5)
    assert {m.content: m.route[-1 if m.key == "yours" else 0] for m in heard.got} == {
        b"0": "heron",
        b"1": "frodo",
        b"2": "frodo",
        b"3": "heron",
        b"4": "frodo",
    }
    assert [m.content for m in heard.got if m.key == "yours"] == [b"1", b"2", b"4"]


@pytest.mark.parametrize("keys", ["b a", "a b"])
def test_an_envelope_is_cut_where_only_some_of_its_messages_have_a_backup(keys: str) -> None:
    ours = (Rule("heron", keys=("a",)), Rule("frodo", keys=("a",), backup=True))
    c = cluster(
        "heron",
        "frodo",
        rules=dict.fromkeys(("heron", "frodo"), (*ours, Rule("heron", domains=("D",)))),
        links="any",
    )
    joe = c.client("frodo").connected()
    c["heron"].kill()
    joe.publish(keys, persistent=True, domain="D")  # before frodo knows that heron is lost
    c.net.until(lambda: "heron" not in c["frodo"].alive)
    c.net.run(5)
    assert [joe.state(n, "D") for n, key in enumerate(keys.split(), 1) if key == "a"] == ["OK"]
    c["heron"].start()
    c.net.until(lambda: joe.state(1, "D") == joe.state(2, "D") == "OK")
    assert c["frodo"].metric("published") == 1


def test_trial_D_every_piece_of_an_envelope_that_was_cut_for_two_masters_goes_its_way() -> None:
    rules = (Rule("heron", keys=("one",)), Rule("frodo", keys=("two",)))
    c = cluster(
        "heron", "frodo", "bilbo", rules=dict.fromkeys(("heron", "frodo", "bilbo"), rules), links="any"
    )
    for words in ("one two", "two one", "one one two two one two", "two two one"):
        joe = c.client("bilbo", "joe")
        contents = [b"%d" % n for n, _ in enumerate(words.split())]
        joe.publish(words, *contents, persistent=True)
        joe.settled()
        assert {joe.state(n) for n in range(1, len(contents) + 1)} == {"OK"}, words
        last = dict(zip(words.split(), contents, strict=True))
        assert {key: m.content for key in ("one", "two") for m in joe.get(key)} == last, words
        joe.close()


def test_what_is_for_this_node_only_stays_here_whatever_the_rules_say() -> None:
    c = cluster("heron", "frodo")
    joe = c.client("frodo")
    joe.publish("k", b"x", domain=RUGBY, flags=LOCAL_ONLY)
    assert joe.settled().state(1, RUGBY) == "OK"
    assert c["frodo"].metric("forwarded") == 0


def test_a_node_that_forwards_in_the_name_of_another_is_refused() -> None:
    c = cluster("heron", "frodo")
    joe = c.client("frodo")
    real = Envelope.passed

    def forged(self: Envelope, hop: Hop, stamp: int = 0) -> Envelope:
        return replace(real(self, hop, stamp), sender="/node/bilbo/client/eve/session/1")

    Envelope.passed = forged  # type: ignore[method-assign]
    try:
        joe.publish("k", b"x", domain=RUGBY)
        assert joe.settled().state(1, RUGBY) == "FORGED_SENDER"
    finally:
        Envelope.passed = real  # type: ignore[method-assign]
    assert c["heron"].metric("forged") == 1
