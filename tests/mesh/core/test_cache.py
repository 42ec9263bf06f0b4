"""What can a slave answer by itself, and what does erasing do everywhere? On simulated nodes."""

from tests.mesh.core.masters import RUGBY, cluster


def test_what_is_subscribed_to_is_answered_from_the_cache_with_its_source() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, out = c.client("bilbo"), c.client("heron", "out")
    out.publish("k", b"1", domain=RUGBY)
    out.settled()
    assert [m.content for m in joe.get("k", domain=RUGBY)] == [b"1"]
    assert [source for source, _ in joe.sources] == ["heron"]
    heard = joe.subscribed("k", domain=RUGBY)
    out.publish("k", b"2", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1", b"2"])
    assert [m.content for m in joe.get("k", domain=RUGBY)] == [b"2"]
    assert joe.sources == [["bilbo", None]]
    assert [m.content for m in joe.get("k", domain=RUGBY, fresh=True)] == [b"2"]
    assert [source for source, _ in joe.sources] == ["heron"]


def test_while_the_way_is_down_the_cache_says_that_it_is_stale() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, out = c.client("bilbo"), c.client("heron", "out")
    heard = joe.subscribed("k", domain=RUGBY)
    out.publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1"])
    c["frodo"].close()
    c.net.run(4)
    assert [m.content for m in joe.get("k", domain=RUGBY)] == [b"1"]
    ((source, age),) = joe.sources
    assert (source, 3 < age < 6) == ("bilbo", True)
    assert joe.get("other", domain=RUGBY) == []
    assert joe.sources == "MASTER_AWAY"
    assert joe.erase("k", RUGBY) == "MASTER_AWAY"


def test_who_has_unsubscribed_reads_what_the_master_has() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, out = c.client("bilbo"), c.client("heron", "out")
    heard = joe.subscribed("k", domain=RUGBY)
    out.publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1"])
    joe.unsubscribe(heard)
    out.publish("k", b"2", domain=RUGBY)
    out.settled()
    c.net.run(1)
    again = joe.subscribed("other", domain=RUGBY)
    assert [m.content for m in joe.get("k", domain=RUGBY)] == [b"2"]
    joe.unsubscribe(again)
    c.net.run(2)
    assert c["heron"].metric("upstream_queries") == c["frodo"].metric("upstream_queries") == 0


def test_A15_an_erase_without_its_domain_stays_where_the_topic_was_never_seen() -> None:
    c = cluster("heron", "avalon", "frodo", "bilbo")
    joe, out = c.client("bilbo"), c.client("avalon", "out")
    heard = joe.subscribed("k", domain=RUGBY)
    c.client("heron", "ann").publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1"])
    assert out.erase("k") == []
    assert joe.erase("k") == ["k"]  # it has the topic cached, so it knows the domain
    c.net.until(lambda: [m.is_erased for m in heard.got] == [False, True])
    assert joe.get("k", domain=RUGBY) == []


def test_a_node_that_published_a_topic_remembers_its_domain() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe = c.client("bilbo")
    joe.publish("k", b"1", domain=RUGBY)
    joe.settled()
    assert joe.erase("k") == ["k"]


def test_an_erased_topic_stays_erased_over_a_crash_of_its_master() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = ann.subscribed("k")
    joe.publish("k", b"1", domain=RUGBY, persistent=True)
    joe.settled()
    assert joe.erase("k", RUGBY) == ["k"]
    assert joe.erase("k", RUGBY) == []
    c.net.until(lambda: [m.is_erased for m in heard.got] == [False, True])
    c["heron"].restart()
    assert ann.connected().get("k") == []
    c.net.run(5)
    assert len(heard.got) == 2


def test_without_rules_a_topic_is_erased_on_every_node_and_each_subscriber_hears_it_once() -> None:
    c = cluster("heron", "frodo", "bilbo", rules=dict.fromkeys(("heron", "frodo", "bilbo"), ()),
                links="any", scope="mesh")  # fmt: skip
    one, two, ann = c.client("heron", "one"), c.client("frodo", "two"), c.client("bilbo", "ann")
    heard = ann.subscribed(pattern="#")
    one.publish("k", b"1")
    two.publish("k", b"2")
    c.net.until(lambda: len(heard.got) == 2)
    assert ann.erase("k") == ["k"]
    c.net.until(lambda: [m.is_erased for m in heard.got] == [False, False, True])
    c.net.run(3)
    assert len(heard.got) == 3
    assert ann.get("k") == []


def test_last_values_that_could_not_be_had_come_when_the_way_is_back() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, out = c.client("bilbo"), c.client("heron", "out")
    out.publish("k", b"1", domain=RUGBY)
    out.settled()
    c["frodo"].close()
    heard = joe.subscribed("k", domain=RUGBY)
    assert heard.got == []
    c["frodo"].start()
    c.net.until(lambda: [(m.content, m.is_initial) for m in heard.got] == [(b"1", True)])
    out.publish("k", b"2", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1", b"2"])
    c.net.run(3)
    assert len(heard.got) == 2
