"""The order in which a subscriber receives messages."""

import pytest

from mesh.wire.envelope import LOCAL_ONLY
from tests.seeds import scenarios
from tests.simulated_client import Subscription, client_of
from tests.simulation import SimNetwork

TINY = {"window_bytes": 2000, "window_count": 4, "backlog_bytes": 5000, "link_messages": 2}


def values(subscription: Subscription) -> list[int]:
    return [int(content) for content in subscription.contents]


@pytest.mark.parametrize("seed", scenarios(range(5), 2))
def test_a_publisher_s_messages_keep_their_order_whether_they_wait_for_the_disk_or_not(seed: int) -> None:
    net = SimNetwork(seed)
    net.disk = (0.05, 0.2)
    a, b = net.mesh("a", "b")
    here, there = (client_of(node).subscribed(pattern="#") for node in (a, b))
    publisher = client_of(a, "pub")
    for n in range(60):
        publisher.publish("k" if n % 3 else "l", b"%d" % n, persistent=n % 5 == 0)
        net.run(net.rng.choice([0.0, 0.0, 0.03]))
    publisher.settled()
    net.until(lambda: len(here.got) == len(there.got) == 60)
    assert values(here) == values(there) == list(range(60))


def test_the_domains_of_a_publisher_do_not_wait_for_each_other() -> None:
    net = SimNetwork()
    net.disk = (1.0, 1.0)
    a = net.node("a")
    subscription = client_of(a).subscribed(pattern="#")
    publisher = client_of(a, "pub")
    publisher.publish("k", b"1", persistent=True)
    publisher.publish("k", b"2", domain="sport")
    net.run(0.5)
    assert values(subscription) == [2]
    publisher.settled()
    assert publisher.state(1, "sport") == "OK"


def test_a_last_value_does_not_overtake_older_messages_that_are_on_their_way() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", **TINY)
    slow = client_of(b, "slow").subscribed("k", rate=10.0)
    publisher = client_of(a, "pub")
    for n in range(12):
        publisher.publish("k", b"%d" % n, persistent=True)
    net.until(lambda: slow.got)
    newcomer = client_of(b, "new").subscribe("k")
    net.until(lambda: slow.got and values(slow)[-1] == 11)
    net.run(5)
    assert values(newcomer) == sorted(set(values(newcomer)))
    assert values(newcomer)[-1] == 11


def test_a_last_value_that_comes_late_does_not_follow_a_newer_message() -> None:
    net = SimNetwork()
    a, b, _ = net.mesh("a", "b", "c")
    publisher = client_of(a, "pub")
    publisher.publish("k l", b"0", b"1")
    publisher.settled()
    net.cut("b", "c")  # so that b gets no values from c
    subscription = client_of(b).subscribe("k")
    net.until(lambda: a.metric("upstream_queries") == 1)
    net.run(2.1)  # c did not confirm in time, and is now asked for its values for a short time
    assert not subscription.is_confirmed
    publisher.publish("k", b"2")
    net.until(lambda: subscription.is_confirmed)
    net.run(1)
    assert values(subscription) == [2]


def test_what_comes_again_for_an_older_subscription_is_not_given_to_a_newer_one() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    sleeper = client_of(b, "stopped")
    stopped = sleeper.subscribed("k", rate=0)
    publisher = client_of(a, "pub")
    for n in range(3):
        publisher.publish("k", b"%d" % n, persistent=True)
    publisher.settled()
    newer = client_of(b, "newer").subscribed("k")
    assert values(newer) == [2]
    net.run(3)
    b.restart()
    net.run(15)
    publisher.publish("k", b"3", persistent=True)
    net.run(5)
    assert values(newer) == [2, 3]
    sleeper.use(stopped)
    assert values(stopped) == [0, 1, 2, 3]


def test_messages_that_a_local_client_kept_local_are_found_only_here() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    publisher = client_of(a)
    publisher.publish("k", b"mine", flags=LOCAL_ONLY)
    publisher.settled()
    assert [message.content for message in client_of(a, "x").get("k")] == [b"mine"]
    assert client_of(b, "y").get("k") == []
    assert client_of(b, "z").subscribed("k").got == []


def check_gaps(subscription: Subscription, published: int) -> None:
    """Check that the message behind missing numbers reports at least as many as are missing."""
    told = lacking = last = 0
    for message in subscription.got:
        told += message.gap
        lacking += message.id[2] - last - 1
        last = message.id[2]
        assert told >= lacking, f"{lacking} lack before {last}, {told} were told"
    assert subscription.dropped == published - len(subscription.got)


@pytest.mark.parametrize("where", scenarios(["b", "a"]))
def test_what_a_stopped_subscriber_missed_it_is_told_with_the_next_message(where: str) -> None:
    net = SimNetwork()
    nodes = dict(zip("ab", net.mesh("a", "b", **TINY), strict=True))
    subscriber = client_of(nodes[where], "sub")
    subscription = subscriber.subscribed("k", rate=0)
    publisher = client_of(nodes["a"], "pub")
    for n in range(200):
        publisher.publish("k", b"%d" % n)
    publisher.settled()
    subscriber.use(subscription, rate=100.0)
    net.run(10)
    publisher.publish("k", b"200")
    net.until(lambda: 200 in values(subscription))
    assert subscription.dropped > 50
    check_gaps(subscription, 201)


def test_every_message_that_matched_is_delivered_dropped_or_pending() -> None:
    net = SimNetwork()
    a = net.node("a", **TINY)
    quick = client_of(a, "quick").subscribed("k")
    stopped = client_of(a, "stopped").subscribed(pattern="#", rate=0)
    publisher = client_of(a, "pub")
    for n in range(100):
        publisher.publish("k none", b"%d" % n, b"", persistent=n % 7 == 0)
    publisher.settled()
    net.run(2)
    matched = 100 + 200  # by the first and by the second pattern
    metrics = a.core.parts.status.node_info().metrics
    assert metrics["published"] == 200
    assert matched == metrics["delivered"] + metrics["dropped"] + metrics["pending"]
    assert len(quick.got) == 100
    assert metrics["dropped"] > 0
    assert stopped.got == []
