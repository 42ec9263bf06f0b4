"""Subscriptions that begin with the latest messages of their topics, at the master and behind a slave."""

from dataclasses import replace
from typing import Any

import pytest

from mesh.kernel.delivery import joining
from mesh.mapping.rules import Rule
from tests.mesh.kernel.masters import RUGBY, RULES, Cluster, cluster
from tests.simulated_client import Subscription
from tests.simulation import SimNode

KEPT = {**RULES, "heron": tuple(replace(rule, history=3) for rule in RULES["heron"])}


def kept(*names: str, rules: Any = KEPT, **settings: Any) -> Cluster:
    c = cluster(*names, rules=rules, **settings)
    c.net.run(5)
    return c


def published(c: Cluster, *contents: bytes, key: str = "k", persistent: bool = True) -> None:
    out = c.client("heron", "out")
    for content in contents:
        out.publish(key, content, domain=RUGBY, persistent=persistent)
    out.settled()


def told(s: Subscription) -> list[tuple[bytes, bool]]:
    return [(message.content, message.is_initial) for message in s.got]


@pytest.mark.parametrize("node", ["heron", "frodo", "bilbo"])
def test_a_subscriber_gets_the_last_messages_first_and_then_new_ones(node: str) -> None:
    c = kept("heron", "frodo", "bilbo")
    published(c, b"1", b"2", b"3", b"4")
    published(c, b"x", b"y", key="j")
    joe = c.client(node)
    heard = joe.subscribed("k", domain=RUGBY, history=2)
    plain = joe.subscribed("k", domain=RUGBY)
    every = joe.subscribed(pattern="#", domain=RUGBY, history=1000)
    published(c, b"5")
    c.net.until(lambda: told(heard)[-1:] == told(plain)[-1:] == told(every)[-1:] == [(b"5", False)])
    assert told(heard) == [(b"3", True), (b"4", True), (b"5", False)]
    assert told(plain) == [(b"4", True), (b"5", False)]
    assert [content for content, _ in told(every)] == [b"2", b"3", b"4", b"x", b"y", b"5"]
    assert [m.content for m in joe.get("k", domain=RUGBY, history=3)] == [b"3", b"4", b"5"]
    assert [m.content for m in joe.get("k", domain=RUGBY)] == [b"5"]


def test_messages_that_come_while_the_history_is_fetched_follow_it() -> None:
    long = {**RULES, "heron": tuple(replace(rule, history=1000) for rule in RULES["heron"])}
    c = kept("heron", "frodo", rules=long)
    published(c, *[b"%d" % n for n in range(50)])
    joe, out = c.client("frodo"), c.client("heron", "out2")
    heard = joe.subscribe("k", domain=RUGBY, history=1000)
    sent = 50
    while len(heard.got) < 100:  # a busy topic: a message in each step of the network
        out.publish("k", b"%d" % sent, domain=RUGBY)
        sent += 1
        c.net.run(0.001)
    assert heard.contents == [b"%d" % n for n in range(len(heard.got))]
    initial = [is_initial for _, is_initial in told(heard)]
    assert initial == sorted(initial, reverse=True) and 50 <= sum(initial) < 100


def test_a_subscription_with_too_many_messages_meanwhile_waits_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joining, "NOTED", 5)
    c = kept("heron", "frodo")
    published(c, b"1", b"2")
    joe, out = c.client("frodo"), c.client("frodo", "out2")
    c.net.cut("heron", "frodo")
    heard = joe.subscribe(pattern="#", history=3)
    c.net.run(0.1)
    for n in range(20):
        out.publish(f"own/{n}", b"%d" % n, domain="")
    c.net.heal()
    c.net.run(20)
    assert heard.contents, "nothing is held for ever"


def test_persistent_messages_are_there_after_a_crash_and_what_was_erased_is_not() -> None:
    c = kept("heron", "frodo")
    published(c, b"1", b"2", b"3", b"4")
    published(c, b"5", persistent=False)
    published(c, b"x", b"y", key="gone")
    assert c.client("heron").erase("gone", RUGBY) == ["gone"]
    published(c, b"z", key="gone")
    c["heron"].restart()
    c.net.run(5)
    joe = c.client("frodo")
    assert joe.subscribed("k", domain=RUGBY, history=9).contents == [b"3", b"4"]
    assert joe.subscribed("gone", domain=RUGBY, history=9).contents == [b"z"]
    assert c["heron"].metric("history_messages") == 3


@pytest.mark.parametrize("mode", ["", "silent", "history"])
def test_an_erased_topic_has_no_history(mode: str) -> None:
    c = kept("heron", "frodo")
    published(c, b"1", b"2", b"3")
    joe = c.client("frodo")
    assert joe.erase("k", RUGBY, mode=mode) == ["k"]
    assert joe.get("k", domain=RUGBY, history=9) == []
    published(c, b"4")
    assert [m.content for m in joe.get("k", domain=RUGBY, history=9)] == [b"4"]
    assert c["heron"].metric("history_messages") == 1


def test_a_history_fits_into_the_limit_of_retained_values() -> None:
    rules = {"heron": (Rule("heron", domains=(RUGBY,), history=1000),)}
    c = kept("heron", rules=rules, topics_bytes=20_000)
    published(c, *[b"x" * 1000] * 100)
    joe = c.client("heron")
    assert 5 < len(joe.get("k", domain=RUGBY, history=1000)) < 20
    assert c["heron"].metric("history_evicted") > 80
    assert c["heron"].core.parts.router.holds() <= 20_000


@pytest.mark.parametrize("newest", [(1, 2), (2, 1)])
def test_a_node_of_an_earlier_release_gives_one_value(
    monkeypatch: pytest.MonkeyPatch, newest: tuple[int, int]
) -> None:
    monkeypatch.setattr(SimNode, "newest", newest)
    c = kept("heron", "frodo", rules=KEPT if newest == (2, 1) else RULES)
    published(c, b"1", b"2", b"3")
    heard = c.client("frodo").subscribed("k", domain=RUGBY, history=3)
    published(c, b"4")
    c.net.run(2)
    assert told(heard) == [(b"3", True), (b"4", False)]


def test_several_masters_keep_the_same_history_and_each_message_comes_once() -> None:
    both = (Rule("heron", domains=(RUGBY,), history=3), Rule("avalon", domains=(RUGBY,), history=3))
    c = kept("heron", "avalon", "frodo", rules=dict.fromkeys(("heron", "avalon", "frodo"), both), links="any")
    published(c, b"1", b"2", b"3", b"4")
    c.net.run(2)
    heard = c.client("frodo").subscribed("k", domain=RUGBY, history=9)
    published(c, b"5")
    c.net.until(lambda: heard.contents == [b"2", b"3", b"4", b"5"])
    c.net.run(2)
    assert len(heard.got) == 4
