"""Notices of the open subscriptions of a moved session to masters behind a relay: no pin is left there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.mesh.kernel.masters import RUGBY
from tests.mesh.kernel.subscribers.relayed import Relayed


class Pinned(Relayed):
    """The session joe, which moved from avalon to bilbo; heron has pinned its log for it."""

    def __init__(self) -> None:
        super().__init__()
        self.client, self.sub = self.joe("avalon")
        self.client.use(self.sub, 0.0)
        self.publish(b"1", b"2")
        self.c.net.run(1)
        self.move(self.client, "bilbo")
        self.c.net.until(lambda: self.pins == 1, 30.0)
        self.c.net.run(3)

    @property
    def pins(self) -> float:
        return self.c["heron"].metric("resume_pins")

    def heal(self) -> None:
        self.c.net.heal()
        self.cut()


ENDS: dict[str, Callable[[Pinned], object]] = {
    "the subscription": lambda it: it.client.unsubscribe(it.sub),
    "the session": lambda it: it.client.close(),
}


@pytest.mark.parametrize("end", ENDS)
def test_law_a_master_behind_a_relay_that_did_not_answer_is_asked_again(end: str) -> None:
    it = Pinned()
    it.c.net.cut("frodo", "heron")
    ENDS[end](it)
    it.c.net.run(8)
    assert it.pins == 1
    it.heal()
    it.ends(it.client)


def test_a_master_behind_a_relay_is_not_asked_again_after_its_answer() -> None:
    it = Pinned()
    it.client.unsubscribe(it.sub)
    it.ends(it.client)
    calls = it.c["bilbo"].core.parts.visiting._notices
    assert not calls._unanswered


def test_a_session_whose_client_died_while_its_node_was_down_leaves_no_pin_behind_a_relay() -> None:
    it = Pinned()
    it.c["bilbo"].kill()
    it.client.die()
    it.c["bilbo"].restart()
    it.c.net.run(30)
    assert it.pins == 1, "the client may return"
    it.ends(it.client)


def test_a_subscription_that_ends_between_two_nodes_leaves_no_pin_behind_a_relay() -> None:
    it = Relayed()
    client, sub = it.joe("avalon")
    other = client.subscribed("k", domain=RUGBY, initial=False)
    for each in (sub, other):
        client.use(each, 0.0)
    it.publish(b"1", b"2")
    it.c.net.run(1)
    it.move(client, "frodo")
    it.c.net.until(lambda: it.c["heron"].metric("resume_pins") == 2, 30.0)
    it.c["frodo"].kill()
    for name in ("frodo", "heron", "avalon"):
        it.c.net.cut(client.name, name)
    client.unsubscribe(sub)
    client.use(other)
    it.c["frodo"].start()
    it.move(client, "bilbo")
    it.c.net.until(lambda: not client.core.visits.is_moving, 60.0)
    it.c.net.run(10)
    assert not it.left()
