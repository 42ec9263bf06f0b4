"""A subscriber that does not keep up, and its effect on others."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.simulated_client import Got, SimClient, Subscription, client_of
from tests.simulation import SimNetwork, SimNode

BIG = {"window_bytes": 4_000, "window_count": 8, "backlog_bytes": 20_000}


class Scenario(NamedTuple):
    """A node with a publisher and a reader, who reads nothing until the test tells it to."""

    node: SimNode
    publisher: SimClient
    reader: SimClient
    s: Subscription


def scenario(policy: str, max_queue: int = 0, **settings: Any) -> Scenario:
    node = SimNetwork(1).node("a", **settings)
    reader = client_of(node, "slow")
    s = reader.subscribed("k", rate=0, overflow=policy, max_queue=max_queue)
    return Scenario(node, client_of(node, "pub"), reader, s)


def publish(client: SimClient, count: int, size: int = 0, **options: Any) -> None:
    for n in range(1, count + 1):
        client.publish("k", b"%04d" % n + bytes(size), **options)


def numbers(s: Subscription) -> list[int]:
    return [int(content[:4]) for content in s.contents]


def told(messages: list[Got]) -> Iterator[int]:
    """Yield the numbers of messages, each of which must report the gap before it."""
    last = 0
    for message in messages:
        assert message.id[2] == last + message.gap + 1
        last = message.id[2]
        yield last


@pytest.mark.parametrize(("policy", "kept"), [("drop_newest", range(1, 11)), ("drop_oldest", range(96, 101))])
def test_so_many_are_under_way_and_as_many_wait(policy: str, kept: range) -> None:
    node, publisher, reader, s = scenario(policy, max_queue=5)
    publish(publisher, 100)
    publisher.settled()
    assert node.metric("pending") == 10
    reader.use(s)
    node.net.run(1)
    assert numbers(s)[:5] == [1, 2, 3, 4, 5], "these were under way"
    assert set(numbers(s)[5:]) <= set(kept)
    assert node.metric("dropped") == 90
    publish(publisher, 1)
    node.net.run(1)
    assert list(told(s.got))[-1] == 101


def test_nobody_waits_for_one_that_drops() -> None:
    for policy in ("drop_newest", "drop_oldest"):
        node, publisher, reader, s = scenario(policy, **BIG)
        reader.use(s, rate=10.0)
        publish(publisher, 150, size=500)
        start = node.net.now
        publisher.settled()
        assert node.net.now - start < 1.0, policy
        node.net.run(15)
        list(told(s.got))
        assert node.metric("dropped") > 0 and len(s.got) + node.metric("dropped") == 150


def test_publishers_wait_for_one_that_blocks_and_it_misses_nothing() -> None:
    node, publisher, reader, s = scenario("block", **BIG)
    reader.use(s, rate=50.0)
    publish(publisher, 150, size=500)
    start = node.net.now
    publisher.settled()
    assert node.net.now - start > 1.0
    node.net.run(10)
    assert numbers(s) == list(range(1, 151)) and node.metric("dropped") == 0


def test_one_that_wants_an_error_ends_at_the_first_that_finds_no_room() -> None:
    node, publisher, _, s = scenario("error", max_queue=5)
    publish(publisher, 10)
    publisher.settled()
    node.net.run(1)
    assert s.ended == ""
    publish(publisher, 1)
    publisher.settled()
    node.net.run(1)
    assert s.ended == "SLOW_CONSUMER"
    assert (node.metric("subscriptions"), node.metric("pending")) == (0, 0)


def test_that_it_ended_is_told_though_the_connection_broke_meanwhile() -> None:
    node, publisher, reader, s = scenario("error", max_queue=5)
    node.net.cut(reader.name, "a")
    publish(publisher, 11)
    publisher.settled()
    node.net.run(20)
    node.net.heal()
    node.net.until(lambda: s.ended == "SLOW_CONSUMER")
    node.net.run(1)
    assert not any(session.ended for session in node.core.parts.clients.sessions.values())


def test_persistent_messages_wait_whatever_the_policy() -> None:
    for policy in ("drop_newest", "drop_oldest", "error"):
        node, publisher, reader, s = scenario(policy, max_queue=5)
        publish(publisher, 50, persistent=True)
        publisher.settled()
        reader.use(s)
        node.net.run(5)
        assert numbers(s) == list(range(1, 51)), policy


def test_row_38_one_that_stands_still_while_messages_are_dropped_is_cut_off_by_name() -> None:
    node, publisher, reader, s = scenario("drop_newest", max_queue=5)
    publish(publisher, 20)
    node.net.run(9)
    assert reader.refusals == []
    node.net.until(lambda: reader.refusals)
    assert reader.refusals[0].code == "SLOW_CONSUMER" and reader.session_name in reader.refusals[0].reason
    assert node.metric("slow_consumers") == 1
    assert any("slow consumer" in note and "subscription 1 (k)" in note for note in node.notes)
    node.net.run(30)
    assert len(reader.refusals) == 1, "back again, and nothing is dropped meanwhile"
    reader.use(s)
    publish(publisher, 3)
    node.net.run(2)
    list(told(s.got))
    assert s.got[-1].id[2] == 23


def test_one_that_stands_still_over_its_work_is_cut_off_only_when_that_is_done() -> None:
    node, publisher, reader, _ = scenario("drop_newest", max_queue=5)
    face, works = node.core.parts.context.face, [True]
    face.has_work = lambda session: works[0]  # type: ignore[method-assign]
    publish(publisher, 20)
    node.net.run(30)
    assert reader.refusals == [] and reader.is_up
    works[0] = False
    node.net.until(lambda: reader.refusals)
    assert reader.refusals[0].code == "SLOW_CONSUMER"


def test_one_that_is_slow_but_goes_on_is_not_cut_off() -> None:
    node, publisher, reader, s = scenario("drop_oldest", max_queue=5)
    reader.use(s, rate=0.5)
    for _ in range(40):
        publish(publisher, 20)
        node.net.run(1)
    assert reader.refusals == [] and node.metric("dropped") > 100
    list(told(s.got))


def test_the_policy_of_a_subscription_outlives_its_node() -> None:
    node = scenario("drop_oldest", max_queue=5).node
    node.net.run(3)
    node.restart()
    node.net.run(5)
    [feed] = [f for session in node.core.parts.clients.sessions.values() for f in session.feeds.values()]
    assert (feed.overflow, feed.credit.messages) == ("drop_oldest", 5)


def test_what_has_expired_while_it_waited_is_not_delivered() -> None:
    node, publisher, reader, s = scenario("block", max_queue=2)
    soon, later = node.wall + 5 * 10**9, node.wall + 500 * 10**9
    for n in range(1, 9):
        publisher.publish("k", b"%04d" % n, expires=soon if n % 2 else later, persistent=True)
    publisher.settled()
    node.net.run(6)
    reader.use(s)
    node.net.run(2)
    assert numbers(s) == [1, 2, 4, 6, 8], "two were under way"
    assert (node.metric("expired_waiting"), node.metric("stored_envelopes")) == (3, 0)
