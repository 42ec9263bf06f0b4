"""A new subscription receives the present values before later messages, and never after them."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mesh.client.core.framing import SPEAKS
from mesh.kernel.delivery import joining
from mesh.wire.limits import GAPS
from tests.simulated_client import SimClient, Subscription, client_of
from tests.simulation import SimNetwork


class Held:
    """Confirmations of nodes, which a test delays."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def call_when_confirmed(self, peers: Sequence[object], then: Callable[[], None]) -> None:
        self.waiting.append(then)

    def come(self) -> None:
        for then in self.waiting:
            then()


def joined(monkeypatch: pytest.MonkeyPatch, pattern: str, *passing: str) -> list[tuple[str, bytes]]:
    """Return what a subscription receives if the other node restarts before it is asked for its values.

    The retained values are "old". The "new" ones of the keys `passing` are transient, so that the restart
    loses them.
    """
    net = SimNetwork(3)
    a, b = net.mesh("a", "b")
    writer, reader = client_of(b, "writer"), client_of(a, "reader")
    for key in ("k/1", "k/2"):
        writer.publish(key, b"old", persistent=True)
    net.until(lambda: writer.is_through)
    held = Held()
    monkeypatch.setattr(a.core.parts.questions, "call_when_confirmed", held.call_when_confirmed)
    subscription: Subscription = reader.subscribe(pattern=pattern, initial=True)
    net.until(lambda: bool(held.waiting))
    net.run(1.0)
    for key in passing:
        writer.publish(key, b"new")
    net.until(lambda: writer.is_through)
    net.run(0.5)  # to the reader's node, which delivers nothing yet
    b.kill()
    b.restart()
    net.until(lambda: bool(a.core.parts.nodes.askable()))
    net.run(5.0)
    held.come()
    net.run(5.0)
    assert not a.core.parts.router.joining
    return [(got.key, got.content) for got in subscription.got]


def test_a_value_that_a_newer_one_went_past_is_not_given_though_its_master_has_lost_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert joined(monkeypatch, "k/+", "k/1") == [("k/1", b"new"), ("k/2", b"old")]


def test_of_so_many_topics_it_is_noted_what_went_past(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "NOTED", 1)
    given = joined(monkeypatch, "k/+", "k/1", "k/2")
    assert given == [("k/1", b"new"), ("k/2", b"new"), ("k/2", b"old")]


# --- more values than a backlog holds -----------------------------------------------------------------------

MANY = 100


def newcomer(n: int = MANY, nodes: str = "a", **terms: Any) -> tuple[SimNetwork, SimClient, Subscription]:
    """Publish `n` topics at the first node, and subscribe to all at the last one.

    The subscriber reads 50 messages a second.
    """
    net = SimNetwork()
    mesh = net.mesh(*nodes)
    writer = client_of(mesh[0], "writer")
    for i in range(n):
        writer.publish(f"k/{i}", b"old", persistent=i % 2 == 0)
    net.until(lambda: writer.is_through)
    reader = client_of(mesh[-1], "reader")
    return net, writer, reader.subscribe(pattern="k/+", rate=50.0, **terms)


@pytest.mark.parametrize("overflow", ["block", "drop_newest", "drop_oldest", "error"])
@pytest.mark.parametrize("nodes", ["a", "ab"])
def test_all_values_that_are_there_come_at_the_pace_of_the_reader(overflow: str, nodes: str) -> None:
    net, _, heard = newcomer(nodes=nodes, overflow=overflow, max_queue=3)
    net.until(lambda: len(heard.got) == MANY)
    assert (len({got.key for got in heard.got}), heard.dropped) == (MANY, 0)


@pytest.mark.parametrize("overflow", ["block", "drop_newest", "drop_oldest"])
def test_they_take_no_room_from_what_is_published_meanwhile(overflow: str) -> None:
    net, writer, heard = newcomer(overflow=overflow, max_queue=3)
    net.until(lambda: len(heard.got) > 10)
    for i in range(3):
        writer.publish(f"k/{i}", b"new")
    net.until(lambda: len(heard.got) + heard.dropped == MANY + 3)
    assert [got.content for got in heard.got[MANY:]] == [b"new"] * 3 and not heard.dropped


@pytest.mark.parametrize("overflow", ["block", "drop_newest", "drop_oldest"])
def test_a_gap_that_nothing_follows_is_told(overflow: str) -> None:
    net, writer, heard = newcomer(0, overflow=overflow, max_queue=2)
    net.until(lambda: heard.is_confirmed)
    for _ in range(30):
        writer.publish("k/1", b"x")
    net.until(lambda: writer.is_through)
    net.run(5)
    assert heard.dropped > 0 and len(heard.got) + heard.dropped == 30


def test_a_client_of_an_earlier_release_is_told_with_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "mesh.client.core.client_handshake.SPEAKS", tuple(word for word in SPEAKS if word != GAPS)
    )
    net, writer, heard = newcomer(0, overflow="drop_newest", max_queue=2)
    net.until(lambda: heard.is_confirmed)
    for _ in range(30):
        writer.publish("k/1", b"x")
    net.run(5)
    assert len(heard.got) < 30 and not heard.dropped
    writer.publish("k/1", b"x")
    net.until(lambda: len(heard.got) + heard.dropped == 31)
