"""Erasures of which no client is notified, although all nodes are."""

import pytest

from tests.mesh.kernel.masters import RUGBY, Cluster, cluster
from tests.simulated_client import Subscription
from tests.simulation import SimNode

QUIET = ["silent", "history"]


def published(c: Cluster) -> list[Subscription]:
    """Return subscriptions of the topic k at all three nodes, which have its value."""
    heard = [
        c.client(name, f"ear-{name}").subscribed("k", domain=RUGBY) for name in ("heron", "frodo", "bilbo")
    ]
    c.client("heron", "out").publish("k", b"1", domain=RUGBY, persistent=True)
    c.net.until(lambda: all(each.contents == [b"1"] for each in heard))
    return heard


@pytest.mark.parametrize("mode", QUIET)
def test_the_master_and_all_caches_forget_the_topic_and_no_client_hears_of_it(mode: str) -> None:
    c = cluster("heron", "frodo", "bilbo")
    heard = published(c)
    joe, ann = c.client("frodo"), c.client("bilbo", "ann")
    ann.get("k", domain=RUGBY)  # from now on the cache may answer
    assert joe.erase("k", RUGBY, mode=mode) == ["k"]
    c.net.run(2)
    for name in ("heron", "frodo", "bilbo"):
        assert c.client(name, f"late-{name}").get("k", domain=RUGBY) == []
    assert c["bilbo"].metric("cached_topics") == c["heron"].metric("topics") == 0
    late = ann.subscribed("k", domain=RUGBY)
    c.client("heron", "out2").publish("k", b"2", domain=RUGBY)
    c.net.until(lambda: all(each.contents == [b"1", b"2"] for each in heard) and late.contents == [b"2"])
    assert not any(message.is_erased for each in heard for message in each.got)
    assert joe.erase("k", RUGBY) == ["k"]
    c.net.until(lambda: all(each.got[-1].is_erased for each in (*heard, late)))


@pytest.mark.parametrize("mode", QUIET)
def test_after_a_crash_of_the_master_a_slave_still_hears_of_it_and_still_no_client_does(mode: str) -> None:
    c = cluster("heron", "frodo", "bilbo")
    heard = published(c)
    c.net.cut("frodo", "heron")
    c.net.run(1)
    assert c.client("heron").erase("k", RUGBY, mode=mode) == ["k"]
    c["heron"].restart()
    c.net.heal()
    c.net.run(20)
    ear = c.client("heron", "ear-heron")
    assert ear.get("k", domain=RUGBY) == []
    assert c["bilbo"].metric("cached_topics") == c["frodo"].metric("cached_topics") == 0
    assert not any(message.is_erased for each in heard for message in each.got)


def test_a_repeat_on_another_connection_is_as_silent_and_why_says_which_of_the_two_it_was() -> None:
    c = cluster("heron")
    joe, out = c.client("heron"), c.client("heron", "out")
    heard = joe.subscribed("k", domain=RUGBY)
    for mode, code in (("history", "EMPTIED"), ("silent", "ERASED"), ("", "ERASED")):
        out.publish("k", b"1", domain=RUGBY)
        out.settled()
        assert joe.erase("k", RUGBY, mode=mode) == ["k"]
        told = joe.call("why", kind="topic", text="k", domain=RUGBY)["reasons"]
        assert {"ERASED", "EMPTIED"} & {each["code"] for each in told} == {code}
    c.net.run(1)
    assert [message.is_erased for message in heard.got] == [False, False, False, True]


def test_a_master_of_an_earlier_release_is_not_asked_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimNode, "newest", (1, 2))  # every other node speaks the first version only
    c = cluster("heron", "frodo")
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY)
    joe.publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1"])
    _, said = joe._called("erase", {"key": "k", "domain": RUGBY, "mode": "silent"})
    assert said.code == "MASTER_AWAY" and "heron runs an earlier release" in said.text
    assert [message.content for message in joe.get("k", domain=RUGBY, fresh=True)] == [b"1"]
    assert joe.erase("k", RUGBY) == ["k"]
    c.net.until(lambda: [message.is_erased for message in heard.got] == [False, True])
