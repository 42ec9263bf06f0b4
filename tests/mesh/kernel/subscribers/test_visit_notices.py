"""Notices of the open subscriptions of a moved session: what other nodes keep for others is released."""

from __future__ import annotations

import pytest

from mesh.kernel.subscribers.visit_notices import VisitNotices
from mesh.wire.commands import Moved
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork


class Moving:
    """The session joe, which goes from the node a to b while d is the master of unread messages for it."""

    def __init__(self) -> None:
        self.net = SimNetwork()
        self.a, self.b, self.d = self.net.mesh("a", "b", "d")
        self.joe = SimClient(self.net, self.a.ipc, "joe", others=[self.b.ipc, self.d.ipc]).connected()
        self.sub = self.joe.subscribed("k", rate=0.0)
        ann = SimClient(self.net, self.d.ipc, "ann").connected()
        ann.publish("k", b"1", persistent=True)
        ann.settled()
        self.net.run(1)

    def go_to_b(self) -> None:
        self.joe.move(self.b.ipc)
        self.net.until(lambda: self.pins == 1)

    @property
    def pins(self) -> float:
        return self.d.metric("resume_pins")


def test_a_client_that_closes_before_the_master_has_answered_leaves_no_pin() -> None:
    it = Moving()
    it.go_to_b()
    assert it.b.metric("resuming") == 2, "d has pinned its log, and its answer is not here"
    it.joe.close()
    it.net.until(lambda: it.pins == 0, limit=5.0)


@pytest.mark.parametrize("is_over", [False, True], ids=("moving", "moved"))
def test_a_subscription_that_ends_while_its_log_is_read_leaves_no_pin(is_over: bool) -> None:
    it = Moving()
    it.go_to_b()
    it.net.until(lambda: it.joe.core.visits.is_moving is not is_over)
    assert it.pins == 1
    it.joe.unsubscribe(it.sub)
    it.net.until(lambda: it.pins == 0, limit=5.0)


def test_a_master_that_was_cut_off_learns_the_open_subscriptions_at_its_next_login() -> None:
    it = Moving()
    it.go_to_b()
    it.net.run(1)
    it.net.cut("b", "d")
    it.net.run(30)
    it.joe.close()
    it.net.run(1)
    assert it.pins == 1
    it.net.heal()
    it.net.until(lambda: it.pins == 0)


def test_a_subscription_that_ends_between_two_nodes_leaves_no_pin_and_no_feed() -> None:
    it = Moving()
    it.go_to_b()
    it.net.cut("a", "b")  # a is not released, and has the subscription still
    it.b.kill()
    it.joe.unsubscribe(it.sub)
    it.net.until(lambda: it.joe.is_up and it.joe.core.line.home != "b")
    it.joe.move(it.a.ipc)
    it.net.until(lambda: it.joe.is_up and it.joe.core.line.home == "a" and not it.pins)
    assert not any(feed.queries for feed in it.a.core.parts.sessions.by_stream[it.joe.stream].feeds.values())


def test_a_pin_stays_while_the_client_may_return_to_a_restarted_node() -> None:
    it = Moving()
    it.go_to_b()
    it.net.run(1)
    it.net.cut(it.joe.name, "b")
    it.b.restart()
    it.net.run(10)
    assert it.pins == 1, "the new process does not know all subscriptions"
    it.net.heal()


def test_a_session_whose_client_died_while_its_node_was_down_ends_at_the_former_node_too() -> None:
    it = Moving()
    it.net.cut("a", "b")  # a is not released
    it.go_to_b()
    it.b.kill()
    it.joe.die()
    it.b.restart()
    it.net.heal()
    it.net.run(30)
    assert it.a.metric("sessions_held") == 1, "the client may return"
    it.net.run(60)
    assert it.a.metric("sessions_held") == it.b.metric("sessions") == it.pins == 0


def test_only_the_node_of_the_session_names_its_subscriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    it = Moving()
    it.go_to_b()
    it.net.until(lambda: not it.joe.core.visits.is_moving)
    certificate = it.b.core.parts.context.visits.find(it.joe.stream)
    assert certificate is not None
    it.a.core.parts.context.out.send(it.a.core.parts.neighbours.peers[it.d.uuid].data, Moved(certificate, ()))
    it.net.run(5)
    assert it.pins == 1
    monkeypatch.setattr(VisitNotices, "_open", lambda self, certificate: None)
    it.joe.unsubscribe(it.sub)
    it.net.run(5)
    assert it.pins == 1, "without a list nothing is released"
