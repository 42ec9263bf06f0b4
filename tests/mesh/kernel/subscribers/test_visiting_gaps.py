"""Law 4: transient messages that a former node drops are reported to the client at its next node."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from mesh.kernel.subscribers.session import UNKNOWN, Session
from mesh.kernel.subscribers.visit import Visit
from mesh.names import SessionName
from mesh.wire.calls.sessions import Counts
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode


class Leaving:
    """A client at a that reads nothing and has received two of five transient messages of ann, at d.

    The connection with a is cut.
    """

    def __init__(self) -> None:
        self.net = SimNetwork()
        self.a, self.b, self.d = self.net.mesh("a", "b", "d")
        self.joe = SimClient(self.net, self.a.ipc, "joe", others=[self.b.ipc, self.d.ipc]).connected()
        self.sub = self.joe.subscribed("k", initial=False, rate=0.0)
        self.ann = SimClient(self.net, self.d.ipc, "ann").connected()
        self.publish(1, 2)
        self.net.until(lambda: len(self.sub.waiting) == 2)
        self.net.cut(self.joe.name, "a")
        self.publish(3, 5)
        self.net.run(0.5)  # they reach a

    def publish(self, first: int, last: int, persistent: bool = False) -> None:
        for n in range(first, last + 1):
            self.ann.publish("k", b"%d" % n, persistent=persistent)
            self.ann.settled()

    def move(self, to: SimNode) -> None:
        self.joe.move(to.ipc)
        self.net.until(lambda: self.joe.is_up and self.joe.core.line.home == to.name, 30.0)
        self.net.until(lambda: not self.joe.core.visits.is_moving, 90.0)

    def read(self, *contents: bytes) -> None:
        """Let the client read, and wait until it has these contents and nothing else."""
        self.joe.use(self.sub)
        self.net.until(lambda: len(self.sub.contents) >= len(contents))
        self.net.run(1)
        assert self.sub.contents == list(contents)


def test_what_had_not_arrived_is_counted_and_what_had_is_not() -> None:
    it = Leaving()
    it.move(it.b)
    assert it.sub.dropped == 3
    it.publish(6, 6)
    it.read(b"1", b"2", b"6")
    assert it.sub.dropped == 3


def test_persistent_messages_are_resumed_and_not_counted() -> None:
    it = Leaving()
    it.publish(6, 8, persistent=True)
    it.net.run(0.5)
    it.move(it.b)
    it.read(b"1", b"2", b"6", b"7", b"8")
    assert it.sub.dropped == 3


def test_nothing_is_reported_if_all_has_arrived() -> None:
    it = Leaving()
    it.net.heal()
    it.net.until(lambda: len(it.sub.waiting) == 5)
    it.move(it.b)
    it.publish(6, 6)
    it.read(*(b"%d" % n for n in range(1, 7)))
    assert it.sub.dropped == 0


def test_what_a_node_drops_is_reported_once_if_two_later_nodes_release_it() -> None:
    it = Leaving()
    it.net.cut("a", "b")
    it.joe.move(it.b.ipc)
    it.net.until(lambda: it.joe.is_up and it.joe.core.line.home == "b")
    it.net.run(1)
    it.net.cut(it.joe.name, "b")
    it.net.heal()
    it.net.cut(it.joe.name, "b")
    it.net.until(lambda: it.joe.stream not in it.a.core.parts.sessions.by_stream)
    it.net.run(0.5)
    it.move(it.d)
    assert it.sub.dropped == 3, "b had the number, and could not report it"


@pytest.mark.parametrize("is_back", [False, True])
def test_a_node_that_ended_leaves_a_gap_of_unknown_size(is_back: bool) -> None:
    it = Leaving()
    others = it.joe.subscribed("other", initial=False)
    if is_back:
        it.a.restart()
        it.net.run(1)
        it.move(it.b)
    else:
        it.a.kill()
        it.joe.move(it.b.ipc)
    it.net.until(lambda: it.sub.intake.unknown_gaps > 0, 60.0)
    it.publish(6, 6, persistent=True)
    if not is_back:
        it.a.start()
    it.net.until(lambda: not it.joe.core.visits.is_moving, 60.0)
    it.read(b"1", b"2", b"6")
    assert (it.sub.dropped, it.sub.intake.unknown_gaps) == (0, 1)
    assert others.intake.unknown_gaps == 0, "no transient message had arrived"


def test_a_repeated_answer_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    it, told = Leaving(), list[int]()
    report = Visit.report_gaps

    def twice(visit: Visit, uuid: bytes, gaps: Counts) -> None:
        for _ in range(2):
            report(visit, uuid, gaps)
        told.append(it.sub.dropped)

    monkeypatch.setattr(Visit, "report_gaps", twice)
    it.move(it.b)
    it.net.run(1)
    assert told and it.sub.dropped == 3


def test_a_node_answers_the_first_node_that_releases_a_session_as_often_as_it_asks() -> None:
    feed = Mock(queries={"k": 1}, left_behind={0: 3, 2: 1}.get)
    session = Session(SessionName.parse("/node/a/client/joe/session/1"), b"s" * 16, Mock())
    session.feeds, session.user = {1: feed, 2: Mock(queries={})}, ""
    feed.has_unknown_gap = False
    assert [session.leave_to(node, {1: 2}) for node in (b"b", b"d", b"b")] == [[(1, 1)], [], [(1, 1)]]
    session.left_to = b""  # it was here again
    assert session.leave_to(b"d", {}) == [(1, 3)]
    session.left_to, feed.has_unknown_gap = b"", True
    assert session.leave_to(b"d", {}) == [(1, UNKNOWN), (1, 3)], "it was not reported yet"
