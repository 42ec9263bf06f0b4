"""Do messages find their master, whatever lies on the way? On simulated nodes."""

from tests.mesh.core.masters import RUGBY, cluster

K = "PublishToBilbo"


def test_A1_what_a_slave_publishes_reaches_the_master_two_hops_away() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"
    assert [m.content for m in ann.get(K)] == [b"We win"]


def test_A29_the_route_counts_strata_down_to_the_master() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    joe.publish(K, b"We win", domain=RUGBY)
    joe.settled()
    (message,) = ann.get(K)
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
