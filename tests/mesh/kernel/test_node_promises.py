"""The promises to publishers and subscribers: the whole core, simulated network, disk and crashes."""

import pytest

from mesh.wire.commands import Call
from mesh.wire.envelope import LOCAL_ONLY
from tests.mesh.kernel.campaign import Campaign, Masters
from tests.seeds import scenarios
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def numbers(first: int, last: int) -> list[bytes]:
    return [b"%d" % n for n in range(first, last)]


def test_exact_and_pattern_subscriptions_reach_every_node() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    exact = client_of(b).connected().subscribed("x/1")
    pattern = client_of(c).connected().subscribed(pattern="x/+")
    publisher = client_of(a).connected()
    publisher.publish("x/1 x/2 y x/1", b"1", b"2", b"3", b"4")
    publisher.settled()
    net.until(lambda: len(exact.got) == 2 and len(pattern.got) == 3)
    assert exact.contents == [b"1", b"4"] and pattern.contents == [b"1", b"2", b"4"]
    assert pattern.got[0].route == ("a", "c") and pattern.got[0].sender == publisher.session_name


def test_a_late_joiner_gets_the_last_value_and_what_follows() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    publisher = client_of(a).connected()
    for content in numbers(0, 5):
        publisher.publish("k", content)
    publisher.settled()
    late = client_of(b).connected().subscribed("k")
    publisher.publish("k", b"5")
    net.until(lambda: len(late.got) == 2)
    assert late.contents == [b"4", b"5"]
    assert [message.is_initial for message in late.got] == [True, False]


def test_a_node_that_joins_later_is_asked_too() -> None:
    net = SimNetwork()
    a = net.node("a")
    subscription = client_of(a).connected().subscribed(pattern="#")
    b = net.node("b", "a")
    net.until(lambda: b.metric("upstream_queries") == 1)
    client_of(b).connected().publish("k", b"v")
    net.until(lambda: subscription.contents == [b"v"])


def test_one_upstream_query_for_all_who_want_the_same() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    one, two = client_of(b, "one").connected(), client_of(b, "two").connected()
    first, second = one.subscribed("k"), two.subscribed("k")
    assert a.metric("upstream_queries") == 1
    one.unsubscribe(first)
    net.run(1)
    assert a.metric("upstream_queries") == 1
    client_of(a).connected().publish("k", b"v")
    net.until(lambda: second.contents == [b"v"])
    two.unsubscribe(second)
    net.until(lambda: a.metric("upstream_queries") == 0)
    assert first.contents == []


def test_get_finds_the_newest_of_all_nodes() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    for node, content in ((a, b"old"), (b, b"newer"), (a, b"newest")):
        client_of(node).connected().publish("k", content)
        net.run(0.5)
    assert [message.content for message in client_of(c).connected().get("k")] == [b"newest"]
    assert client_of(c, "other").connected().get(pattern="no/#") == []


def test_local_only_messages_stay_at_their_node() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    here, there = client_of(a).connected().subscribed("k"), client_of(b).connected().subscribed("k")
    publisher = client_of(a, "p").connected()
    publisher.publish("k", b"local", flags=LOCAL_ONLY)
    publisher.publish("k", b"all")
    net.until(lambda: here.contents == [b"local", b"all"] and there.contents == [b"all"])


def test_a_broken_connection_loses_and_doubles_nothing() -> None:
    net = SimNetwork(3)
    a, b = net.mesh("a", "b")
    subscription = client_of(b, "sub").connected().subscribed("k")
    publisher = client_of(a, "pub").connected()
    for n in range(200):
        publisher.publish("k", b"%d" % n)
        if n % 20 == 7:
            net.run(0.02)
            net.break_all("a", "b")
            net.break_all(publisher.name)
    publisher.settled()
    net.until(lambda: len(subscription.got) == 200)
    net.run(5)
    assert subscription.contents == numbers(0, 200)


@pytest.mark.parametrize("victims", scenarios(["ab", "a", "b"]))
@pytest.mark.parametrize("seed", scenarios(range(5)))
def test_what_was_answered_survives_kill_9(victims: str, seed: int) -> None:
    net = SimNetwork(seed)
    nodes = dict(zip("abc", net.mesh("a", "b", "c"), strict=True))
    subscription = client_of(nodes["b"], "sub").connected().subscribed("k")
    publisher = client_of(nodes["a"], "pub").connected()
    for round_ in range(4):
        for n in range(25):
            publisher.publish("k", b"%d" % (25 * round_ + n), persistent=True)
            net.run(0.005)
        for name in victims:
            nodes[name].kill()
        net.run(net.rng.random())
        for name in victims:
            nodes[name].start()
    publisher.settled()
    net.until(lambda: len(subscription.got) >= 100)
    net.run(15)
    assert subscription.contents == numbers(0, 100)
    assert {publisher.state(n) for n in range(1, 101)} == {"OK"}
    assert nodes["a"].metric("stored_envelopes") == 0


def test_a_full_disk_refuses_by_name_and_goes_on() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    subscription = client_of(b).connected().subscribed("k")
    publisher = client_of(a).connected()
    a.disk.is_full = True
    publisher.publish("k", b"no", persistent=True)
    publisher.settled()
    a.disk.is_full = False
    publisher.publish("k", b"yes", persistent=True)
    publisher.settled()
    net.until(lambda: len(subscription.got) == 1)
    net.run(2)
    assert (publisher.state(1), publisher.state(2)) == ("STORE_FULL", "OK")
    assert subscription.contents == [b"yes"]


def test_a_slow_subscriber_paces_its_publisher_and_a_stopped_one_does_not() -> None:
    net = SimNetwork()
    settings = {"window_bytes": 2000, "window_count": 4, "backlog_bytes": 8_000}
    a, b = net.mesh("a", "b", **settings)
    slow = client_of(b, "slow").connected().subscribed("k", rate=20.0)
    publisher = client_of(a).connected()
    for content in numbers(0, 60):
        publisher.publish("k", content)
    publisher.settled()
    net.until(lambda: len(slow.got) == 60)
    assert slow.contents == numbers(0, 60) and slow.dropped == 0

    stopped = client_of(b, "stopped").connected().subscribed("s", rate=0)
    for content in numbers(0, 250):
        publisher.publish("s", content)
    began = net.now
    publisher.settled()
    assert net.now - began < 30
    assert len(stopped.got) < 250
    assert a.metric("dropped") + b.metric("dropped") > 0


def test_trial_D_a_slow_subscriber_at_another_node_paces_its_publisher_for_as_long_as_it_takes() -> None:
    net = SimNetwork()
    settings = {"window_bytes": 2000, "window_count": 4, "backlog_bytes": 8_000}
    a, b = net.mesh("a", "b", **settings)
    slow = client_of(b, "slow").connected().subscribed("k", rate=20.0)
    publisher = client_of(a).connected()
    for content in numbers(0, 120):  # more than both nodes can hold
        publisher.publish("k", content.ljust(200))
    began = net.now
    publisher.settled()
    assert net.now - began > 4
    net.until(lambda: len(slow.got) == 120)
    assert slow.dropped == a.metric("dropped") == b.metric("dropped") == 0


def test_trial_D_a_slow_subscriber_that_many_nodes_publish_for_paces_each_of_them() -> None:
    # The subscriber reads all the time, but each node has its turn so rarely that it seems to have stopped.
    net = SimNetwork()
    settings = {"window_bytes": 900, "window_count": 6, "link_messages": 3, "backlog_bytes": 3_500}
    nodes = net.mesh(*"abcd", **settings)
    slow = client_of(nodes[-1], "slow").connected().subscribed("k", rate=3.0)
    fast = client_of(nodes[-1], "fast").connected().subscribed("k")
    publishers = [client_of(node).connected() for node in nodes[:-1]]
    for publisher in publishers:
        for content in numbers(0, 20):
            publisher.publish("k", content.ljust(200))
    net.until(lambda: len(slow.got) + slow.dropped == 60, limit=100)
    assert (slow.dropped, fast.dropped, len(fast.got)) == (0, 0, 60)


def test_a_vanished_client_is_waited_for_and_then_given_up() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", linger=20.0)
    client = client_of(b).connected()
    client.subscribed("k")
    publisher = client_of(a).connected()
    client.die()
    publisher.publish("k", b"v", persistent=True)
    publisher.settled()
    net.run(5)
    assert a.metric("stored_envelopes") == 1
    net.run(40)
    assert a.metric("stored_envelopes") == 0 and b.metric("subscriptions") == 0


# Only a few seeds: the simulator has more, with more faults (tools/simulate).
@pytest.mark.parametrize("seed", scenarios(range(3)))
def test_a_random_scenario_keeps_every_promise(seed: int) -> None:
    scenario = Campaign(seed, nodes=2 + seed % 3, subscribers=2 + seed % 4)
    scenario.run(8.0, faults=2.0)
    scenario.check()


# The first two seeds, and those that found a fault once.
@pytest.mark.parametrize("seed", scenarios([0, 1, 176, 328, 340, 522, 556, 1002, 1009, 1056]))
def test_a_random_scenario_with_masters_and_ways_keeps_every_promise(seed: int) -> None:
    scenario = Masters(seed, subscribers=4)
    scenario.run(8.0)
    scenario.check()


@pytest.mark.slow  # for its length
@pytest.mark.parametrize(("newest", "seed"), [((1, 2), 1), ((2, 1, 1), 4)])
def test_a_random_scenario_in_a_mesh_of_two_releases_keeps_every_promise(
    newest: tuple[int, ...], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimNode, "newest", newest)
    for scenario in (Campaign(seed, nodes=4, subscribers=4), Masters(seed, subscribers=4)):
        scenario.run(8.0)
        scenario.check()


def test_an_erase_that_is_asked_again_while_it_goes_to_the_disk_is_answered_all_the_same() -> None:
    net = SimNetwork()
    net.disk = (0.5, 0.5)
    (a,) = net.mesh("a")
    client = client_of(a)
    client.publish("k", b"1", persistent=True)
    client.settled()
    net.run(2)
    call = client.ask(lambda request: Call(request, "erase", {"key": "k", "domain": ""}))
    net.run(0.1)
    net.break_all(client.name)
    net.until(lambda: call.reply)
    assert call.reply is not None and call.reply.value == {"erased": ["k"]}
