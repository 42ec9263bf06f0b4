"""Figures of services: what happened to each request."""

import pytest

from mesh.discovery.state import NodeState, Sample
from mesh.features.services.node.parts import ServiceParts
from mesh.snapshots.line import SERVICE, STATE, HistoryLine
from mesh.wire.commands import Consume
from mesh.wire.envelope import EVERY, REQUEST
from tests.mesh.features.services.node.user import User
from tests.simulation import SimNetwork, SimNode

IDLE = Sample((90.0, 70.0), 4_000_000_000, 8_000_000_000, 0.001)
COUNTS = ("sent", "requests", "replies", "failed", "lost", "refused", "expired")


def mesh(*names: str) -> list[SimNode]:
    return SimNetwork(1).mesh(*names, sample=lambda: IDLE, snapshots=10.0)


def fared(node: SimNode) -> dict[tuple[str, str], dict[str, int]]:
    """Return the figures that are not 0, by address and node."""
    rows = node.core.parts[ServiceParts].figures.busiest(100)
    return {
        (address, at): {name: getattr(one, name) for name in COUNTS if getattr(one, name)}
        for address, at, one in rows
    }


def lines(by: SimNode) -> list[HistoryLine]:
    return [line for line in by.lines if line.kind == SERVICE]


def mine(node: SimNode) -> NodeState:
    state = node.core.parts.gossiping.mine
    assert state is not None
    return state


def test_a_request_counts_at_the_node_of_its_asker_by_who_served_it() -> None:
    a, b = mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    asker.request("x", b"1", b"2", b"3")
    plain = asker.send("x", b"4")
    a.net.until(lambda: asker.state(plain) == "OK" and len(server.contents()) == 4)
    assert fared(b) == {("x", "a"): {"requests": 3, "sent": 1}}
    a.net.run(0.4)
    server.reply((1, b"one"), (2, b"two"))
    a.net.until(lambda: len(asker.replies) == 2)
    server.reply((3, b"no"), code="NOT_TODAY")
    server.done(4, 4)
    a.net.until(lambda: len(asker.replies) == 3)
    assert fared(b) == {("x", "a"): {"requests": 3, "sent": 1, "replies": 2, "failed": 1}}
    assert fared(a) == {}
    [(_, _, one)] = b.core.parts[ServiceParts].figures.busiest(1)
    assert one.seconds == pytest.approx(0.8, abs=0.1)
    assert (b.metric("requests"), b.metric("replies"), b.metric("request_failures")) == (3, 2, 1)
    assert (a.metric("served"), b.metric("served"), a.metric("requests")) == (4, 0, 0)


def test_each_way_to_fail_has_its_count() -> None:
    a, b = mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    missed = asker.request("nobody", b"1")
    a.net.until(lambda: asker.state(missed) == "NO_HANDLERS")
    asker.send("nobody", b"wants no reply")
    server.serve("x", credit=3)
    asker.request("x", b"1", b"2", b"3", ttl=60_000)
    asker.request("x", b"never begun", ttl=1_000)
    a.net.until(lambda: len(server.contents()) == 3)
    a.net.run(2)
    server.done(1, 1)  # without a reply
    server.reply((2, b"two"))
    a.net.run(0.1)
    server.vanish()
    a.net.until(lambda: len(asker.replies) == 3)
    assert fared(b) == {
        ("nobody", ""): {"requests": 1, "refused": 1},
        ("x", "a"): {"requests": 4, "replies": 1, "failed": 1, "lost": 1, "expired": 1},
    }
    assert b.metric("request_failures") == 4


def test_a_request_that_went_in_vain_and_then_elsewhere_counts_once() -> None:
    a, b, c = mesh("a", "b", "c")
    first, second, asker = User(a, "first"), User(b, "second"), User(c, "asker")
    first.serve("x")
    second.serve("x")
    warm = asker.request("x", b"0")
    a.net.until(lambda: asker.state(warm) == "OK")
    first.say(Consume(99, 1, "x", 0, False))
    a.net.until(lambda: a.metric("servers") == 0)
    numbers = [asker.request("x", b"%d" % n) for n in range(6)]  # c does not know it yet
    a.net.until(lambda: all(asker.state(n) == "OK" for n in numbers))
    counted = fared(c)
    assert sum(row["requests"] for row in counted.values()) == 7
    assert sum(row.get("refused", 0) for row in counted.values()) == 0


def test_nobody_waits_any_more_for_a_reply_that_comes_too_late() -> None:
    a, b = mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    asker.request("x", b"1", b"2", ttl=1_000)
    a.net.until(lambda: len(server.contents()) == 2)
    a.net.run(2)
    server.reply((1, b"too late"))
    a.net.until(lambda: asker.replies)
    assert fared(b) == {("x", "a"): {"requests": 2, "expired": 1}}
    a.net.run(15)
    assert fared(b) == {("x", "a"): {"requests": 2, "expired": 2}}


def test_a_node_that_is_gone_has_lost_what_it_had() -> None:
    a, b = mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    asker.request("x", b"1", b"2", ttl=60_000)
    a.net.until(lambda: len(server.contents()) == 2)
    a.net.run(0.5)
    a.kill()
    a.net.until(lambda: len(asker.replies) == 2)
    assert fared(b) == {("x", "a"): {"requests": 2, "lost": 2}}


def test_a_request_to_all_counts_at_each_node_and_so_do_its_replies() -> None:
    a, b = mesh("a", "b")
    servers = [User(a, "s1"), User(a, "s2"), User(b, "s3")]
    for server in servers:
        server.serve("who")
    asker = User(b, "asker")
    asker.send("who", b"?", flags=REQUEST | EVERY, ttl=5000)
    a.net.until(lambda: all(server.contents() for server in servers))
    for server in servers:
        server.reply((1, b"I"))
    a.net.until(lambda: len(asker.replies) == 3)
    a.net.run(20)  # the expected number is unknown
    assert fared(b) == {
        ("who", "a"): {"requests": 1, "replies": 2},
        ("who", "b"): {"requests": 1, "replies": 1},
    }


def test_a_request_to_all_does_not_count_where_nobody_had_it_any_more() -> None:
    a, b, c = mesh("a", "b", "c")
    first, second, asker = User(a, "first"), User(b, "second"), User(c, "asker")
    first.serve("x")
    second.serve("x")
    warm = asker.request("x", b"0", flags=EVERY)
    a.net.until(lambda: asker.state(warm) == "OK")
    first.say(Consume(99, 1, "x", 0, False))
    asked = asker.request("x", b"1", flags=EVERY)  # c does not know it yet
    a.net.until(lambda: asker.state(asked) == "OK")
    assert {at: row["requests"] for at, row in fared(c).items()} == {("x", "a"): 1, ("x", "b"): 2}


def test_states_say_how_requests_fare_of_late() -> None:
    a, b = mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    assert (mine(b).requested, mine(b).request_p50, mine(b).request_p99, mine(a).served) == (0, 0, 0, 0)
    a.net.run(2)
    counter = mine(b).counter
    asker.request("x", *[b"?"] * 10, ttl=60_000)
    asker.request("nobody", b"?")
    a.net.until(lambda: len(server.contents()) == 10)
    a.net.run(0.1)
    server.reply(*((n, b"!") for n in range(1, 10)))
    a.net.run(0.5)
    server.reply((10, b"late"))
    a.net.until(lambda: mine(b).counter > counter + 1)
    [said] = [line for line in b.lines if line.kind == STATE and line.node == "b" and line.requested]
    assert said.requested == pytest.approx(5.5, rel=0.1) and said.request_failed == pytest.approx(
        0.5, rel=0.1
    )
    assert said.request_p50 == pytest.approx(0.11, rel=0.15)
    assert said.request_p99 == pytest.approx(0.61, rel=0.15)
    served = [line.served for line in a.lines if line.kind == STATE and line.node == "a" and line.served]
    assert sum(served) == pytest.approx(5, rel=0.1)
    a.net.run(20)
    assert (mine(b).requested, mine(b).request_p50, mine(b).request_p99, mine(a).served) == (0, 0, 0, 0)


def test_lines_hold_what_was_counted_to_the_last_one_and_none_is_written_in_vain() -> None:
    a, b = mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    asker.request("x", b"1", b"2")
    a.net.until(lambda: len(server.contents()) == 2)
    a.net.run(0.2)
    server.reply((1, b"one"))
    a.net.run(12)
    [line] = lines(b)
    assert (line.address, line.node, line.uuid, line.boot) == ("x", "a", a.uuid.hex(), 1)
    assert (line.sent, line.requests, line.replies, line.expired) == (0, 2, 1, 0)
    assert line.p50 == line.p99 == pytest.approx(0.2, rel=0.15) and line.seconds == pytest.approx(
        0.2, abs=0.05
    )
    asker.request("nobody", b"1")
    a.net.run(31)  # an earlier request expires
    told = lines(b)[1:]
    assert sorted((line.address, line.node, line.expired, line.refused) for line in told) == [
        ("nobody", "", 0, 1),
        ("x", "a", 1, 0),
    ]
    assert all(line.p50 is None and line.p99 is None for line in told)
    asker.send("x", b"3")
    a.net.run(1)
    b.close()
    assert [line.sent for line in lines(b)[3:]] == [1] and lines(a) == []
