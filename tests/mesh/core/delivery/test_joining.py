"""Is a new subscription given the values that are there before what follows them, and never behind?"""

from collections.abc import Callable, Sequence

import pytest

from mesh.core.delivery import joining
from tests.simulated_client import Subscription, client_of
from tests.simulation import SimNetwork


class Held:
    """The confirmations of all nodes, which come when a test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def confirm(self, peers: Sequence[object], then: Callable[[], None]) -> None:
        self.waiting.append(then)

    def come(self) -> None:
        for then in self.waiting:
            then()


def joined(monkeypatch: pytest.MonkeyPatch, pattern: str, *passing: str) -> list[tuple[str, bytes]]:
    """What a subscription is given whose master ends, with what it did not keep, before it is asked for
    its values: they are "old", and "new" is what went past."""
    net = SimNetwork(3)
    a, b = net.mesh("a", "b")
    writer, reader = client_of(b, "writer"), client_of(a, "reader")
    for key in ("k/1", "k/2"):
        writer.publish(key, b"old", persistent=True)
    net.until(lambda: writer.is_through)
    held = Held()
    monkeypatch.setattr(a.core.parts.questions, "confirm", held.confirm)
    subscription: Subscription = reader.subscribe(pattern=pattern, initial=True)
    net.until(lambda: bool(held.waiting))
    net.run(1.0)
    for key in passing:
        writer.publish(key, b"new")
    net.until(lambda: writer.is_through)
    net.run(0.5)  # to the reader, who shows nothing yet
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
