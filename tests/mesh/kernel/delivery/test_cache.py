"""The cache of a slave: the values that it may answer with, and those that it must not keep."""

from dataclasses import replace
from typing import Any

import pytest

from mesh.kernel.asking import interest_sync
from mesh.kernel.delivery.cache import Cache
from mesh.mapping.rules import Rule
from mesh.wire.commands import Call
from mesh.wire.envelope import ERASED, Envelope
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.masters import RUGBY, RULES, cluster
from tests.mesh.kernel.several import several


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


def test_trial_D_a_value_that_never_came_over_a_cut_wire_is_not_hidden_by_an_older_one_in_the_cache() -> None:
    c = cluster("heron", "frodo", peer_linger=10.0)
    joe, out = c.client("frodo"), c.client("heron", "out")
    heard = joe.subscribed("k", domain=RUGBY)
    out.publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1"])
    c.net.cut("heron", "frodo")
    c.net.run(60)  # so long that frodo is owed nothing afterwards
    out.publish("k", b"2", domain=RUGBY)
    c.net.heal()
    c.net.run(20)
    assert heard.contents == [b"1"], "nothing has come since, by which frodo could know"
    assert [m.content for m in joe.get("k", domain=RUGBY)] == [b"2"]


def test_trial_D_after_a_reconnect_the_cache_says_what_the_masters_say_though_a_clock_was_ahead() -> None:
    c = several("heron", "avalon", "frodo", "bilbo", "golan")
    joe, out, ann = c.client("frodo"), c.client("golan", "out"), c.client("bilbo", "ann")
    heard = joe.subscribed(pattern="#", domain=RUGBY)
    ann.publish("other", b"something", domain=RUGBY, persistent=True)
    c.net.until(lambda: heard.contents == [b"something"])
    c["golan"].leap(30 * 10**9)
    out.publish("k", b"half a minute ahead", domain=RUGBY, persistent=True)
    c.net.until(lambda: len(heard.got) == 2)
    c.net.break_all("heron", "frodo")
    c.net.break_all("avalon", "frodo")
    c.net.run(5)
    ann.publish("k", b"now", domain=RUGBY, persistent=True)
    ann.settled()
    c.net.until(lambda: len(heard.got) == 3)
    joe.get("other", domain=RUGBY)  # the cache is valid again for this value only
    for fresh in (False, False, True, False):
        (value,) = joe.get("k", domain=RUGBY, fresh=fresh)
        assert value.content == b"half a minute ahead", "by the clocks of their nodes it is the later one"
    assert joe.sources == [["frodo", None]]


def test_trial_D_what_was_erased_while_nobody_here_wanted_it_is_not_in_the_cache_of_who_wants_it() -> None:
    c = cluster("heron", "frodo")
    joe, out, ann = c.client("frodo"), c.client("heron", "out"), c.client("frodo", "ann")
    heard, other = joe.subscribed("k", domain=RUGBY), ann.subscribed("other", domain=RUGBY)
    out.publish("k other", b"1", b"2", domain=RUGBY)
    c.net.until(lambda: heard.got and other.got)
    joe.unsubscribe(heard)
    c.net.run(2)
    assert out.erase("k", RUGBY) == ["k"]
    joe.subscribed("k", domain=RUGBY)
    assert joe.get("k", domain=RUGBY) == []
    assert [m.content for m in ann.get("other", domain=RUGBY)] == [b"2"]
    assert ann.sources == [["frodo", None]]


def test_trial_D_what_a_master_lost_with_its_process_is_in_no_cache_behind_a_way() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, out = c.client("bilbo"), c.client("heron", "out")
    heard = joe.subscribed("k", domain=RUGBY)
    out.publish("k", b"stored", domain=RUGBY, persistent=True)
    out.settled()
    out.publish("k", b"transient", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"stored", b"transient"])
    c["heron"].restart()
    c.net.run(5)
    for fresh in (False, True, False):
        assert [m.content for m in joe.get("k", domain=RUGBY, fresh=fresh)] == [b"stored"]
    assert joe.sources == [["bilbo", None]]


def test_trial_D_what_a_lost_process_of_its_master_had_sent_comes_late_and_into_no_cache() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, out = c.client("bilbo"), c.client("heron", "out")
    heard = joe.subscribed("k", domain=RUGBY)
    out.publish("k", b"stored", domain=RUGBY, persistent=True)
    c.net.until(lambda: heard.contents == [b"stored"])
    c.net.cut("frodo", "bilbo")
    out.publish("k", b"transient", domain=RUGBY)
    out.settled()
    c.net.run(0.2)  # the message waits at frodo
    c["heron"].restart()
    c.net.run(2)
    c.net.heal()
    c.net.until(lambda: heard.contents == [b"stored", b"transient"])
    for fresh in (False, True, False):
        assert [m.content for m in joe.get("k", domain=RUGBY, fresh=fresh)] == [b"stored"]


def test_trial_D_what_was_said_before_the_cache_was_emptied_is_not_in_it() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, out = c.client("bilbo"), c.client("heron", "out")
    out.publish("k", b"stored", domain=RUGBY, persistent=True)
    out.settled()
    joe.subscribed("k", domain=RUGBY, initial=False)
    out.publish("k", b"transient", domain=RUGBY)
    out.settled()
    c.net.run(0.2)
    c.net.is_watched = True
    arguments = {"kind": "exact", "text": "k", "domain": RUGBY, "fresh": True}
    call = joe.ask(lambda request: Call(request, "get", arguments))
    c.net.until(lambda: ("heron", "frodo", "Reply") in c.net.seen)
    c.net.cut("frodo", "bilbo")
    c["heron"].restart()
    c.net.run(1)
    c.net.heal()
    c.net.until(lambda: call.reply)
    assert call.found[0].body == b"transient"
    for fresh in (False, False):
        assert [m.content for m in joe.get("k", domain=RUGBY, fresh=fresh)] == [b"stored"]


def test_trial_D_what_a_master_has_lost_is_not_in_the_cache_of_those_behind_a_way() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, out = c.client("bilbo"), c.client("heron", "out")
    heard = joe.subscribed(pattern="#", domain=RUGBY)
    out.publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1"])
    c["heron"].restart()
    c.net.run(5)
    out.publish("other", b"2", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1", b"2"])
    assert joe.get("k", domain=RUGBY) == joe.get("k", domain=RUGBY, fresh=True) == []
    assert heard.dropped == 0, "how much it missed nobody knows"


def rules_of(node: str, **terms: Any) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of the cluster, with terms of the cache in all rules of one node."""
    return {**RULES, node: tuple(replace(rule, **terms) for rule in RULES[node])}


def stored(key: str, sent: int, flags: int = 0) -> Envelope:
    return envelope(key, [b"x" * 100], sent=sent, flags=flags)


def test_a_value_is_kept_as_long_as_its_rule_says_since_the_last_message_of_its_topic() -> None:
    cache = Cache(10_000, lambda e: {key: 5.0 for key in e.keys if key != "kept"})
    for sent, now in ((1, 0.0), (2, 3.0)):
        cache.store_value(stored("k", sent), now)
    cache.store_value(stored("kept", 3), 0.0)
    assert cache.get("k", "", 7.9) is not None
    assert cache.get("k", "", 8.0) is None and len(cache.values) == 2, "it is gone before the sweep"
    cache.expire(8.0)
    assert cache.values.keys() == ["kept"]
    assert cache.get("kept", "", 1e9) is not None


def test_what_was_erased_evicted_or_emptied_has_no_time_left_that_a_later_value_could_inherit() -> None:
    cache = Cache(1_200, lambda e: dict.fromkeys(e.keys, 5.0) if e.sent < 10 else {})
    cache.store_value(stored("erased", 1), 0.0)
    cache.store_value(stored("erased", 2, ERASED), 0.0)
    for key in ("evicted", "a", "b"):  # two values fit
        cache.store_value(stored(key, 3), 0.0)
    assert cache.get("evicted", "", 0.0) is None
    cache.store_value(stored("evicted", 10), 1.0)
    cache.store_value(stored("erased", 10), 1.0)
    assert cache.get("evicted", "", 99.0) is not None and cache.get("erased", "", 99.0) is not None
    cache.store_value(stored("a", 4), 0.0)
    cache.empty()
    cache.store_value(stored("a", 10), 1.0)
    assert cache.get("a", "", 99.0) is not None


def test_a_slave_asks_its_master_again_when_the_time_of_its_copy_is_over() -> None:
    c = cluster("heron", "frodo", "bilbo", rules=rules_of("bilbo", cache_ttl=20.0))
    joe, out = c.client("bilbo"), c.client("heron", "out")
    heard = joe.subscribed("k", domain=RUGBY)
    out.publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1"])
    c.net.run(5)  # all nodes have met
    for seconds, source in ((0, "heron"), (15, "bilbo"), (10, "heron"), (1, "bilbo")):
        c.net.run(seconds)
        assert [m.content for m in joe.get("k", domain=RUGBY)] == [b"1"]
        assert joe.sources == [[source, None]]
    c["frodo"].close()
    c.net.run(30)
    assert joe.get("k", domain=RUGBY) == [] and joe.sources == "MASTER_AWAY"
    assert c["bilbo"].metric("cached_topics") == 0


def test_a_slave_stays_subscribed_for_a_while_after_its_last_subscriber() -> None:
    c = cluster("heron", "frodo", "bilbo", rules=rules_of("bilbo", cache_linger=20.0))
    joe, out = c.client("bilbo"), c.client("heron", "out")
    joe.subscribed("link", domain=RUGBY)
    c.net.run(5)  # all nodes have met
    heard = joe.subscribed("k", domain=RUGBY)
    joe.unsubscribe(heard)
    c.net.run(10)
    for content, source in ((b"0", "heron"), (b"1", "bilbo")):
        out.publish("k", content, domain=RUGBY)
        out.settled()
        c.net.run(1)
        assert [m.content for m in joe.get("k", domain=RUGBY)] == [content]
        assert joe.sources == [[source, None]], "the second one has come without a subscriber"
    again = joe.subscribed("k", domain=RUGBY)
    c.net.run(15)  # 26 s after the first one left
    out.publish("k", b"2", domain=RUGBY)
    c.net.until(lambda: again.contents == [b"1", b"2"])
    assert c["frodo"].metric("upstream_queries") == 2
    joe.unsubscribe(again)
    c.net.run(15)
    assert c["frodo"].metric("upstream_queries") == 2
    c.net.run(10)
    assert c["heron"].metric("upstream_queries") == c["frodo"].metric("upstream_queries") == 1
    assert c["bilbo"].metric("cached_topics") == 0
    assert [m.content for m in joe.get("k", domain=RUGBY)] == [b"2"]
    assert joe.sources == [["heron", None]]


def test_a_subscription_whose_last_request_is_kept_is_not_kept_by_two() -> None:
    c = cluster("heron", "frodo", rules=rules_of("frodo", cache_linger=20.0))
    joe = c.client("frodo")
    one, two = joe.subscribed("k", domain=RUGBY), joe.subscribed("k", domain=RUGBY)
    joe.unsubscribe(one)
    c.net.run(30)
    assert c["heron"].metric("upstream_queries") == 1, "the other one subscribes still"
    joe.unsubscribe(two)
    c.net.run(30)
    assert c["heron"].metric("upstream_queries") == 0


def test_only_so_many_queries_wait_for_a_new_subscriber(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interest_sync, "LINGERING", 2)
    c = cluster("heron", "frodo", rules=rules_of("frodo", cache_linger=1000.0))
    joe = c.client("frodo")
    for key in ("a", "b", "c"):
        joe.unsubscribe(joe.subscribed(key, domain=RUGBY))
    c.net.run(2)
    assert c["heron"].metric("upstream_queries") == 2
