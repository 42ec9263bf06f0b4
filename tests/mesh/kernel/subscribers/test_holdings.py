"""The bytes that sessions hold at a node, and the sessions that are closed above the limit."""

from typing import Any

import pytest

from mesh.kernel.subscribers.facts import SessionCutOff
from mesh.kernel.subscribers.holdings import SHARED, sizes_of
from mesh.mapping.rules import Rule
from mesh.routing.memory import OWN
from mesh.wire.commands import Ack, Query, Refuse, Subscribe
from tests.mesh.features.services.node.user import User
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

MOST = 200_000  # bytes that all sessions may hold
SIZE = 10_000  # bytes of a content
LOOK = 3.0  # s until a node has checked what it holds


def node(**settings: Any) -> SimNode:
    return SimNetwork().node("a", sessions_bytes=MOST, **settings)


def content(n: int) -> bytes:
    return b"%d" % n + bytes(SIZE)


def held(a: SimNode) -> int:
    a.net.run(LOOK)
    return a.metric("held_bytes")


def filled(a: SimNode, publisher: SimClient, *topics: str, messages: int = 6, **options: Any) -> None:
    for n in range(messages):
        for topic in topics:
            publisher.publish(topic, content(n), **options)
    publisher.settled()
    a.net.run(LOOK)


def codes(client: SimClient) -> list[str]:
    return [refusal.code for refusal in client.refusals]


def test_what_several_sessions_hold_counts_once() -> None:
    body, other = bytes(1000), bytearray(500)
    sizes = sizes_of([("a", body, 1000), ("b", body, 1000), ("b", other, 500), ("b", body, 1000)])
    assert dict(sizes) == {"a": 1000 + OWN, "b": 500 + OWN + 2 * SHARED}  # type: ignore[comparison-overlap]


def test_of_sessions_that_read_nothing_those_with_most_are_cut_off_until_the_others_fit() -> None:
    a = node()
    publisher, small, large = client_of(a), client_of(a, "small"), client_of(a, "large")
    few, many = small.subscribed(pattern="s/#", rate=0), large.subscribed(pattern="l/#", rate=0)
    filled(a, publisher, "s/1", messages=5)
    filled(a, publisher, "l/1", "l/2", messages=10)
    assert (codes(small), codes(large)) == ([], ["SLOW_CONSUMER"])
    assert "sessions_bytes" in large.refusals[0].hint and large.session_name in large.refusals[0].reason
    assert any("slow consumer" in note and "bytes at this node" in note for note in a.notes)
    assert held(a) < MOST
    small.use(few)
    large.use(many)
    publisher.publish("l/3", b"new")
    a.net.run(10)
    assert len(few.got) == 5, "nothing is lost for who holds little"
    assert many.got[-1].content == b"new" and many.got[-1].gap == 20, "it is told what it misses"


def test_many_readers_of_the_same_messages_are_none_too_many() -> None:
    a = node()
    publisher = client_of(a)
    readers = [client_of(a, f"reader{n}") for n in range(8)]
    for reader in readers:
        reader.subscribed("k", rate=0)
    filled(a, publisher, "k", messages=12)
    assert a.metric("slow_consumers") == 0
    assert 12 * SIZE < held(a) < MOST


@pytest.mark.parametrize(
    ("master", "persistent", "left"), [("a", False, 0), ("a", True, 12), ("b", True, 0)], ids=str
)
def test_a_cut_off_session_keeps_only_messages_on_the_disk_of_its_node(
    master: str, persistent: bool, left: int
) -> None:
    a, _ = SimNetwork().mesh("a", "b", rules=(Rule(master, keys=("k",)),), window_count=2)
    publisher, reader = client_of(a), client_of(a, "reader")
    reader.subscribed("k", rate=0)
    a.net.run(2)
    for n in range(12):
        publisher.publish("k", content(n), persistent=persistent)
    publisher.settled()
    a.net.run(1)
    session = a.core.parts.sessions.by_stream[reader.stream]
    [feed] = session.feeds.values()
    assert 0 < feed.under_way_bytes < feed.waiting_bytes, "some are in flight, and some wait"
    a.core.parts.clients.cut_off_largest(session, feed.waiting_bytes)
    assert SessionCutOff(session) in a.core.parts.context.facts.queue and session.conn is None
    assert (feed.items, feed.gap, feed.under_way_bytes) == (left, 12 - left, 0)
    assert feed.waiting_bytes == 0 or left


def test_what_is_on_the_disk_waits_on_for_a_session_that_is_cut_off() -> None:
    a = node(memory_bytes=30_000)
    publisher, reader = client_of(a), client_of(a, "reader")
    subscription = reader.subscribed("k", rate=0)
    filled(a, publisher, "k", messages=30, persistent=True)
    reader.use(subscription)
    a.net.run(10)
    assert [got.content for got in subscription.got] == [content(n) for n in range(30)]
    assert codes(reader) == ["SLOW_CONSUMER"]


def test_a_session_that_is_away_gives_up_what_it_holds() -> None:
    a = node()
    publisher, reader = client_of(a), client_of(a, "reader")
    reader.subscribed("k", rate=0)
    filled(a, publisher, "k", messages=10)
    a.net.cut(reader.name, "a")
    filled(a, publisher, "k", messages=15)
    assert held(a) < 3 * SIZE


def test_a_session_that_takes_messages_holds_the_frames_that_it_does_not_say_to_have() -> None:
    a = node()
    publisher, reader = client_of(a), User(a, "reader")
    reader.is_silent = True
    reader.say(Subscribe(1, 7, Query("exact", "k")))
    a.net.until(lambda: reader.said(1))
    filled(a, publisher, "k", messages=5)
    reader.say(Ack(0, ((7, reader.taken[7]),)))
    assert held(a) > 5 * SIZE
    reader.say(Ack(reader.seq, ()))
    assert held(a) < 2 * SIZE, "the last value"


def refused(user: User) -> list[str]:
    return [command.code for command in user.heard if isinstance(command, Refuse)]


@pytest.mark.parametrize("credit", [100, 1])
def test_requests_that_are_never_settled_are_lost_with_who_serves_them(credit: int) -> None:
    """The requests were delivered, or wait for credit."""
    a = node()
    server, asker = User(a, "server"), User(a, "asker")
    server.serve("x", credit=credit)
    for n in range(30):
        asker.request("x", content(n))
    a.net.run(LOOK)
    assert refused(server) == ["SLOW_CONSUMER"]
    assert held(a) < MOST
    a.net.run(LOOK)
    assert {asker.fate(n) for n in range(1, 31)} <= {"HANDLER_LOST", "NO_HANDLERS"}


@pytest.mark.parametrize("limited", ["a", "b"])
def test_requests_to_another_node_are_held_for_the_requester_and_for_the_server(limited: str) -> None:
    net = SimNetwork()
    a, b = (net.node(name, "a", **({"sessions_bytes": MOST} if name == limited else {})) for name in "ab")
    net.until(lambda: len(a.alive) == len(b.alive) == 1)
    asker, server = User(a, "asker"), User(b, "server")
    server.serve("x", credit=100)
    for n in range(30):
        asker.request("x", content(n), ttl=60_000)
    net.run(LOOK)
    full, cut_off = (a, asker) if limited == "a" else (b, server)
    assert held(full) < MOST
    assert refused(cut_off) == ["SLOW_CONSUMER"]
