"""Drained nodes: all their queue messages move to other nodes, and none come back."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.features.queues.model.moves.distribution import one_of
from mesh.features.queues.node.parts import QueueParts
from mesh.features.queues.node.transfers import leaving
from mesh.wire import commands as c
from tests.mesh.features.queues.node.pair import Pair
from tests.mesh.features.queues.node.reader import Reader, waiting
from tests.mesh.features.queues.node.spread import TEN, Several
from tests.mesh.features.queues.node.worker import Worker
from tests.seeds import scenarios
from tests.simulation import SimNetwork


class Nodes(Several):
    """Several nodes that can be drained."""

    def drain(self, i: int, do: str = "begin") -> dict[str, Any]:
        boss = self.bosses[i]
        return boss.ok(boss.ask("queue_drain", do=do))

    def is_empty(self, i: int) -> bool:
        return self.queue(i).part.backlog.messages == 0

    def home(self, *places: int) -> int:
        """Return which of these nodes gets all messages."""
        (uuid,) = one_of("jobs", [self.nodes[i].uuid for i in places])
        return next(i for i in places if self.nodes[i].uuid == uuid)


def test_all_goes_to_one_other_node_whether_anybody_takes_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "TRANSFERS_OPEN", 100)
    it = Nodes(3)
    it.put(0, range(300))
    said = it.drain(0)
    assert said["drains"] and said["left"] == 300 and said["own"] == []
    it.net.until(lambda: it.is_empty(0))
    home = it.home(1, 2)
    assert it.queue(home).part.ready == 300 and it.queue(3 - home).part.ready == 0
    it.net.until(lambda: it.drain(0, "look")["gone"] == 300)
    assert it.drain(0, "look")["left"] == 0
    (worker,) = it.take(home, credit=1000)
    assert worker.contents() == [b"%d" % n for n in range(300)]


@pytest.mark.parametrize(
    "terms",
    scenarios(
        [
            {"distribution": "strict"},
            {"redistribution": None},
            {"distribution": "independent"},
            {"distribution": "round_robin"},
        ],
        2,
    ),
)
def test_however_it_was_declared(terms: dict[str, Any]) -> None:
    it = Nodes(2, **terms)
    it.put(0, TEN)
    it.drain(0)
    it.net.until(lambda: it.ready() == [0, 10])
    it.put(0, range(11, 21))
    it.net.until(lambda: it.ready() == [0, 20])
    it.put(1, range(21, 31))
    it.net.run(5)
    assert it.ready() == [0, 30]


def test_what_is_put_or_taken_elsewhere_does_not_come_to_a_node_that_is_drained() -> None:
    it = Nodes(3, distribution="round_robin")
    it.take(0, 1)
    it.know(1)
    it.drain(0)
    it.net.run(0.2)
    before = it.had(0)
    it.put(1, TEN)
    it.put(2, range(11, 21))
    it.put(0, range(21, 31))
    it.net.until(lambda: len([n for n in it.had(1) if n]) == 30)
    assert it.had(0) == before


def test_what_somebody_has_is_waited_for_and_he_is_given_no_more() -> None:
    it = Nodes(2)
    (joe,) = it.take(0, credit=4)
    it.put(0, TEN)
    it.net.until(lambda: len(it.had(0)) == 4)
    it.drain(0)
    it.net.until(lambda: it.queue(0).part.ready == 0)
    it.net.run(3)
    rows = it.drain(0, "look")["rows"]
    assert [(row["queue"], row["messages"]) for row in rows] == [
        ("jobs", 4)
    ] and "delivered to a consumer" in rows[0]["why"]
    assert joe.settle(1, 2) == []
    joe.leave("jobs", begun=3)
    it.net.until(lambda: it.is_empty(0))
    assert it.had(0) == TEN[:4] and it.queue(1).part.ready == 8
    assert it.queue(1).part.backlog.messages == 8


def test_what_is_of_one_group_waits_for_what_somebody_has_of_it() -> None:
    it = Nodes(2)
    (joe,) = it.take(0, credit=1)
    it.put(0, [1, 2, 3], put=(5, 0, "eu"))
    it.put(0, [4, 5], put=(5, 0, "us"))
    it.net.until(lambda: it.had(0) == [1])
    it.drain(0)
    it.net.until(lambda: it.queue(1).part.ready == 2)
    it.net.run(2)
    assert it.queue(0).part.ready == 2
    joe.settle(entries=[(1, 1, c.NACK, 1000, "")])  # given back with a delay of 1 s
    it.net.run(0.5)
    assert it.queue(0).part.ready == 2 and it.had(0) == [1]
    it.net.until(lambda: it.is_empty(0))
    assert it.had(0) == [1]
    it.take(1)
    assert [n for n in it.had(1) if n < 4] == [1, 2, 3]


def test_what_is_put_of_a_group_then_goes_behind_what_waits_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "TRANSFERS_OPEN", 100)
    it = Nodes(2, redistribution=None)
    for first in range(0, 300, 2):  # more than may be in transit at once
        it.bosses[0].put("jobs", b"%d" % first, b"%d" % (first + 1), put=(5, 0, "joe"))
    it.net.run(3)
    (one,) = it.take(1, credit=1000)
    it.drain(0)
    it.put(0, range(300, 310), put=(5, 0, "joe"))
    while len(it.had(1)) < 310:
        given = one.given[1]
        it.net.until(lambda: one.given[1] > given)  # noqa: B023
        one.settle(1, one.given[1], wait=False)
    assert it.had(1) == list(range(310))


def test_where_no_other_node_takes_it_who_takes_here_goes_on_until_one_does() -> None:
    it = Nodes(2, nodes=["a"])
    it.put(0, TEN)
    it.drain(0)
    it.net.run(2)
    assert "no other node can accept messages now" in it.drain(0, "look")["rows"][0]["why"]
    it.take(0, credit=4)
    it.net.until(lambda: it.had(0) == TEN[:4])
    assert it.queue(0).part.backlog.messages == 10


def test_who_is_full_has_what_it_can_and_the_next_one_has_the_rest() -> None:
    it = Nodes(3, max_count=30)
    it.put(it.home(1, 2), range(100, 120))
    it.put(0, range(25))
    it.drain(0)
    it.net.until(lambda: it.is_empty(0), limit=60)
    home = it.home(1, 2)
    assert (it.queue(home).part.ready, it.queue(3 - home).part.ready) == (30, 15)


def test_two_that_are_drained_send_each_other_nothing() -> None:
    it = Nodes(3)
    for i in (0, 1):
        it.put(i, TEN)
    it.nodes[2].kill()
    it.net.run(15)
    it.drain(0)
    it.drain(1)
    it.net.run(10)
    assert sum(it.ready()[:2]) == 20 and it.sent(0) <= 20 and it.sent(1) <= 20
    before = it.sent(0) + it.sent(1)
    it.net.run(20)
    assert it.sent(0) + it.sent(1) == before
    it.nodes[2].start()
    it.net.until(lambda: it.ready() == [0, 0, 20], limit=60)


@pytest.mark.parametrize(
    ("terms", "named"), [({}, "also being drained: a, c"), ({"nodes": ["b", "c"]}, "also being drained: c")]
)
def test_who_waits_as_all_others_are_drained_too_says_so_and_what_to_do(
    terms: dict[str, Any], named: str
) -> None:
    it = Nodes(3, **terms)
    for i in range(3):
        it.drain(i)
    it.put(1, TEN)
    it.net.run(2)
    assert it.ready() == [0, 10, 0]
    (row,) = it.drain(1, "look")["rows"]
    assert "no other node can accept messages now" in row["why"] and named in row["why"]
    assert "`mesh drain --cancel`" in row["why"]
    it.drain(2, "cancel")
    it.net.until(lambda: it.ready() == [0, 0, 10])


def test_of_who_is_full_it_is_not_said_that_he_is_drained() -> None:
    it = Nodes(2, max_count=5)
    it.take(1, credit=1)
    it.put(1, TEN[:5])
    it.put(0, TEN[:5])
    it.drain(0)
    it.net.until(lambda: "b refused messages" in it.drain(0, "look")["rows"][0]["why"])
    assert "drained as well" not in it.drain(0, "look")["rows"][0]["why"]


def test_the_only_node_is_not_drained_even_if_it_has_no_messages() -> None:
    it = Nodes(1, nodes=["a"])
    reply = it.bosses[0].ask("queue_drain", do="begin")
    assert reply.code == "NO_OTHER_NODE" and "mesh down" in reply.text
    assert not it.drain(0, "look")["drains"]


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_start_in_the_middle_goes_on_and_one_with_nothing_left_ends_it(is_killed: bool) -> None:
    it = Nodes(2, nodes=["a", "b"])
    it.put(0, TEN)
    it.nodes[1].kill()
    it.net.run(15)
    assert it.bosses[0].ask("queue_drain", do="begin").code == "NO_OTHER_NODE"
    it.nodes[1].start()
    it.net.until(lambda: it.nodes[0].alive and it.nodes[1].alive)
    it.nodes[1].kill()
    it.drain(0)
    it.nodes[0].kill() if is_killed else it.nodes[0].close()
    it.nodes[0].start()
    assert it.queue(0).part.backlog.messages == 10
    it.nodes[1].start()
    it.net.until(lambda: it.ready() == [0, 10] and it.is_empty(0), limit=60)
    it.net.run(1)
    it.nodes[0].restart()
    it.bosses[0] = Worker(it.nodes[0], "later")
    assert not it.drain(0, "look")["drains"]
    assert it.nodes[0].metric("queues_drained") == 0
    it.put(0, TEN)
    it.net.run(5)
    assert it.ready() == [10, 10]


def test_who_ends_it_has_all_as_it_was_before() -> None:
    it = Nodes(2)
    it.put(0, TEN)
    it.drain(0)
    it.net.until(lambda: it.ready() == [0, 10])
    assert not it.drain(0, "cancel")["drains"]
    it.take(0)
    it.net.until(lambda: sorted(it.had(0)) == TEN)
    it.put(1, range(11, 21))
    it.net.until(lambda: sorted(it.had(0)) == [*TEN, *range(11, 21)])
    assert it.nodes[0].core.parts.presence.own
    it.takers[0][0].leave("jobs")
    it.net.run(0.2)
    assert not it.nodes[0].core.parts.presence.own


def test_queues_of_the_node_alone_stay_and_are_named() -> None:
    it = Nodes(2)
    boss = it.bosses[0]
    boss.declare("mine", scope="node")
    boss.put("mine", b"1", b"2")
    it.put(0, TEN)
    it.drain(0)
    it.net.until(lambda: it.is_empty(0))
    said = it.drain(0, "look")
    assert (said["left"], said["stay"], said["own"]) == (0, 2, ["mine"])
    joe = Worker(it.nodes[0], "joe")
    joe.take("mine")
    it.net.until(lambda: joe.contents() == [b"1", b"2"])


def test_durable_subscriptions_go_too_and_what_is_published_then_follows() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    boss, joe = Reader(a, "boss"), Reader(b, "joe")
    boss.ok(boss.durable("audit"))
    assert boss.published(b"1") == boss.published(b"2") == "OK"
    boss.ok(boss.ask("queue_drain", do="begin"))
    net.until(lambda: waiting(a, b) == {"b": 2})
    assert boss.published(b"3") == "OK"
    net.until(lambda: waiting(a, b) == {"b": 3})
    joe.take("sub/audit")
    net.until(lambda: joe.contents() == [b"1", b"2", b"3"])


def test_what_is_longer_than_memory_goes_whole() -> None:
    it = Nodes(2, {"memory_bytes": 200_000})
    boss = it.bosses[0]
    for n in range(60):
        boss.put("jobs", *(b"%d" % n + bytes(200) for _ in range(20)))
    it.net.until(lambda: it.queue(0).part.ready == 1200)
    assert it.queue(0).part.order.on_disk
    it.nodes[0].restart()
    it.bosses[0] = Worker(it.nodes[0], "later")
    it.drain(0)
    it.net.until(lambda: it.ready() == [0, 1200], limit=60)


VOLATILE: dict[str, Any] = {"stores": (("jobs", "memory"),), "volatile": frozenset(("memory",))}


def test_between_nodes_that_have_it_in_memory_only_nothing_is_waited_for() -> None:
    it = Nodes(2, VOLATILE)
    it.put(0, TEN)
    it.bosses[0].ask("queue_move", name="jobs", to="b", count=4)
    assert it.queue(0).part.moving.messages == 4 and len(it.queue(1).part.backlog.pledges.open) == 4
    it.drain(0)
    it.net.until(lambda: it.is_empty(0))
    assert it.ready() == [0, 10] and not it.queue(1).part.backlog.pledges.open
    it.nodes[0].kill()
    (joe,) = it.take(1)
    it.net.until(lambda: it.had(1) == TEN)
    assert joe.settle(1, 10) == [] and not any(joe.tries[1])


def test_what_is_on_a_disk_stays_there_until_it_is_done_where_it_is_in_memory_only() -> None:
    p = Pair(at_b=dict(VOLATILE))
    p.put(10)
    p.at_a.ok(p.at_a.ask("queue_drain", do="begin"))
    p.net.until(lambda: p.figures(p.b)[0] == 10)
    p.net.run(10)
    assert p.figures(p.a) == (0, 10)
    (row,) = p.at_a.ok(p.at_a.ask("queue_drain"))["rows"]
    assert (row["messages"], row["why"]) == (10, "in transit to b")
    assert len(p.take_all(p.at_b)) == 10
    p.net.until(lambda: p.figures(p.a) == (0, 0))


def test_what_another_node_keeps_on_its_disk_it_keeps_until_it_is_done_though_it_went_on() -> None:
    net = SimNetwork()
    a = net.node("a")
    b, c_ = (net.node(name, "a", **dict(VOLATILE)) for name in "bc")
    net.until(lambda: all(len(node.alive) == 2 for node in (a, b, c_)))
    boss, at_b, joe = Worker(a, "boss"), Worker(b, "ann"), Worker(c_, "joe")
    parts = [node.core.parts[QueueParts].queues for node in (a, b, c_)]
    boss.declare("jobs", nodes=["a", "b", "c"])
    boss.put("jobs", *(b"%d" % n for n in TEN))
    net.until(lambda: parts[0].get("jobs").part.ready == 10)
    boss.ask("queue_move", name="jobs", to="b")
    boss.ask("queue_drain", do="begin")  # so that it does not return there
    at_b.ok(at_b.ask("queue_drain", do="begin"))
    net.until(lambda: parts[2].get("jobs").part.ready == 10)
    net.run(2)
    assert parts[0].get("jobs").part.moving.messages == 10, "c may die, and it was on a disk"
    joe.take("jobs")
    net.until(lambda: len(joe.contents()) == 10)
    joe.settle(1, 10)
    net.until(lambda: not any(queues.get("jobs").part.backlog.messages for queues in parts))


def test_only_who_may_run_the_node_drains_it() -> None:
    it = Nodes(2)
    boss = it.bosses[0]
    assert boss.ask("queue_drain", do="all").code == "BAD_QUERY"
    for grant in ("monitor", "client"):
        for conn in it.nodes[0].core.parts.dialler.conns.values():
            if conn.owner == boss.stream:
                conn.grant = grant
        assert boss.ask("queue_drain", do="begin").code == "NOT_ALLOWED"
    assert not it.nodes[0].core.parts[QueueParts].queues.schedule.is_leaving
