"""The cache of a slave: the values that it may answer with, and those that it must not keep."""

from mesh.wire.commands import Call
from tests.mesh.kernel.masters import RUGBY, cluster
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
