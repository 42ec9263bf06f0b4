"""Moves of queue messages to another node: each message is at one place, whatever fails."""

from __future__ import annotations

import copy

import pytest

from mesh.features.queues.model.envelopes import disk_index
from mesh.features.queues.model.part import delivery_order
from mesh.features.queues.node.parts import QueueParts
from mesh.features.queues.node.transfers import leaving
from mesh.features.queues.node.transfers.moving import Moving
from mesh.printable import count as counted
from mesh.wire import commands as c
from mesh.wire.limits import TRANSFERS
from tests.mesh.features.queues.node.pair import MEMORY, Pair, contents, moved_rows
from tests.mesh.features.queues.node.worker import Worker
from tests.seeds import scenarios
from tests.simulation import SimNetwork


def test_what_is_moved_is_at_the_other_node_as_it_was_put_and_nowhere_else() -> None:
    p = Pair()
    p.put(3, put=(7, 0, "eu"), color="red")
    p.put(1, flags=0)
    assert p.move() == {"taken": 4, "refused": 0, "going": 0, "rest": False}
    assert p.rested(0, 4)
    assert p.net.now < 30
    p.at_b.take("jobs")
    p.net.until(lambda: len(p.at_b.got[1]) == 4)
    queue = p.b.core.parts[QueueParts].queues.get("jobs")
    (taker,) = queue.part.takers.values()
    envelopes = [run.queued for run in taker.holding.settle(1, 4)]
    first = envelopes[0].envelope
    assert (first.stream, first.first, first.put, first.sender) == (
        p.at_a.stream, 1, (7, 0, "eu"), f"{p.at_a.session}",
    )  # fmt: skip
    assert [queued.moves for queued in envelopes] == [1] * 4
    assert p.a.metric("queue_moved_out") == p.b.metric("queue_moved_in") == 4
    told = [node.core.parts[QueueParts].queues.get("jobs").waiting() for node in (p.a, p.b)]
    assert [(each.moved_in, each.moved_out, each.ready) for each in told] == [(0, 4, 0), (4, 0, 0)]
    assert p.a.core.parts[QueueParts].moving.transfers_to == {"b": 4}
    p.net.until(lambda: p.a.metric("stored_envelopes") == 0)


@pytest.mark.parametrize("hours", [1, -1])
def test_moved_messages_expire_with_their_queue_whatever_the_clocks_show(hours: int) -> None:
    p = Pair(expiry=60.0)
    p.b.leap(hours * 3600 * 10**9)
    p.b.restart()
    p.net.until(lambda: p.a.alive and p.b.alive)
    p.put(3)
    p.net.run(5)
    p.move()
    assert p.rested(0, 3)
    p.net.run(50)
    assert p.rested(0, 3)
    p.net.run(10)
    assert p.rested(0, 0)


def test_so_many_as_were_wanted_move_the_first_ones() -> None:
    p = Pair()
    p.put(10)
    assert p.move(count=4)["taken"] == 4
    assert p.rested(6, 4)
    assert p.take_all(p.at_b) == [(each, 0) for each in contents(10)[:4]]
    assert p.take_all(p.at_a) == [(each, 0) for each in contents(10)[4:]]


def test_more_than_may_be_on_the_way_at_once_moves_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "TRANSFERS_OPEN", 100)
    p = Pair()
    most = 0

    def look() -> bool:
        nonlocal most
        most = max(most, p.a.metric("queue_moving"))
        return p.figures(p.b)[0] == 250

    p.put(250)
    p.at_a.say(c.Call(900_000, "queue_move", {"name": "jobs", "to": "b"}))
    p.net.until(look)
    assert 0 < most <= 100


def test_what_a_full_queue_refuses_stays_where_it_is() -> None:
    p = Pair(max_count=5)
    p.put(3, at=p.at_b)
    p.put(4)
    answer = p.move()
    assert (answer["taken"], answer["refused"], answer["rest"]) == (2, 2, False)
    assert p.rested(2, 5)
    assert p.take_all(p.at_a) == [(each, 0) for each in contents(4)[2:]]


@pytest.mark.parametrize("disk_of", ["a", "b"])
def test_a_full_disk_loses_nothing_and_doubles_nothing(disk_of: str) -> None:
    p = Pair()
    p.logged_in()
    p.put(5)
    disk = {"a": p.a, "b": p.b}[disk_of].disk
    disk.is_full = True
    assert p.begin() == 5
    p.net.run(3)
    disk.is_full = False
    p.net.until(lambda: p.rested(5, 0))
    assert p.take_all(p.at_a) == [(each, 0) for each in contents(5)]
    p.net.until(lambda: p.a.metric("stored_envelopes") == p.b.metric("stored_envelopes") == 0)


@pytest.mark.parametrize("seed", scenarios(range(12)))
@pytest.mark.parametrize("breaks", ["line", "a", "b", "both"])
def test_whatever_breaks_each_message_is_at_one_place_once(breaks: str, seed: int) -> None:
    p = Pair(seed)
    p.logged_in()
    p.put(5)
    p.begin()
    chance = p.net.chance("when")
    for _ in range(3):
        p.net.run(chance.choice((0.0, 0.0005, 0.001, 0.002, 0.004, 0.008)))
        if breaks == "line":
            p.net.break_all("a", "b")
        if breaks in ("a", "both"):
            p.a.restart()
        if breaks in ("b", "both"):
            p.b.restart()
    p.net.until(lambda: p.figures(p.a)[1] == 0 and sum(p.figures(p.a) + p.figures(p.b)) == 5)
    found = p.take_all(Worker(p.a, "ann")) + p.take_all(Worker(p.b, "bob"))
    assert sorted(found) == [(each, 0) for each in contents(5)]


def test_what_may_have_been_given_by_a_queue_whose_memory_is_gone_says_so() -> None:
    p = Pair(at_b={"stores": (("jobs", MEMORY),), "volatile": frozenset((MEMORY,))})
    p.put(3)
    answer = p.move()
    assert (answer["taken"], answer["going"]) == (0, 3)
    assert p.figures(p.a) == (0, 3) and p.figures(p.b) == (3, 0)
    p.at_b.take("jobs", credit=1)
    p.net.until(lambda: p.at_b.contents() == [b"0"])
    assert p.at_b.settle(1, 1) == []
    p.net.until(lambda: p.figures(p.a) == (0, 2))
    p.b.kill()
    p.b.others[MEMORY].store.__init__()  # type: ignore[misc]
    p.b.start()
    p.net.until(lambda: p.figures(p.b) == (2, 0))
    assert p.take_all(Worker(p.b, "bob")) == [(b"1", 1), (b"2", 1)]
    p.net.until(lambda: p.figures(p.a) == (0, 0))


def test_a_queue_in_memory_says_of_what_comes_again_what_became_of_it_when_that_is_known() -> None:
    p = Pair(at_b={"stores": (("jobs", MEMORY),), "volatile": frozenset((MEMORY,))})
    p.put(2)
    p.move()
    peer = p.a.core.parts.neighbours.peers[p.b.uuid]
    before = peer.data
    p.net.break_all("a", "b")
    p.net.until(lambda: peer.data not in (None, before))
    p.net.run(1)  # until it has been resent
    assert p.figures(p.a) == (0, 2) and p.figures(p.b) == (2, 0)
    assert p.take_all(p.at_b) == [(b"0", 0), (b"1", 0)]
    p.net.until(lambda: p.figures(p.a) == (0, 0))


def test_what_is_on_no_disk_says_after_a_restart_of_the_other_node_that_it_may_have_been_given() -> None:
    p = Pair()
    p.logged_in()
    p.put(2, flags=0)
    p.net.cut("a", "b")
    assert p.begin() == 2
    p.b.kill()
    p.net.heal()
    p.b.start()
    p.net.until(lambda: p.rested(0, 2))
    assert p.take_all(Worker(p.b, "bob")) == [(b"0", 1), (b"1", 1)]


# --- lost nodes and removed queues ------------------------------------------------------------------------


def test_of_a_node_that_will_not_come_back_all_is_ready_again_and_says_that_it_may_have_been_given() -> None:
    p = Pair()
    p.logged_in()
    p.put(3)
    p.b.kill()
    p.begin()
    p.net.until(lambda: p.figures(p.a) == (0, 3))
    p.net.until(lambda: not p.a.alive)
    p.a.core.parts.neighbours.acquaintances.remove_address("b")
    p.a._carry_out_all()
    p.net.until(lambda: p.figures(p.a) == (3, 0))
    assert p.take_all(p.at_a) == [(each, 1) for each in contents(3)]
    assert (
        sum(
            "3 messages in transit to a removed node: ready again, marked as redelivered" in note
            for note in p.a.notes
        )
        == 1
    )


def test_what_has_come_from_a_node_is_remembered_until_that_is_gone_or_the_queue() -> None:
    p = Pair()
    p.logged_in()
    assert (moved_rows(p.a), moved_rows(p.b)) == (0, 1)
    p.b.restart()
    assert moved_rows(p.b) == 1
    p.a.kill()
    p.net.until(lambda: not p.b.alive)
    p.b.core.parts.neighbours.acquaintances.remove_address("a")
    p.net.until(lambda: moved_rows(p.b) == 0)
    p.a.start()
    p.at_a, p.at_b = Worker(p.a, "ann"), Worker(p.b, "bob")
    p.logged_in()
    assert moved_rows(p.b) == 1
    p.at_b.ok(p.at_b.ask("queue_remove", name="jobs", if_unused=False))
    p.net.until(lambda: moved_rows(p.b) == 0)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_queue_that_is_removed_while_something_moves_leaves_nothing_behind(at_once: bool) -> None:
    p = Pair()
    p.logged_in()
    p.put(5)
    p.begin()
    p.net.run(0.0 if at_once else 0.004)
    for worker in (p.at_a, p.at_b):
        worker.ok(worker.ask("queue_remove", name="jobs", if_unused=False))
    for node in (p.a, p.b):
        p.net.until(lambda node=node: node.metric("stored_envelopes") == 0)  # type: ignore[misc]
        p.net.run(2)
        assert not node.disk.store.load().tables["part"] and not list(node.disk.store.load().envelopes)
    p.at_a.declare("jobs")
    p.at_b.declare("jobs")
    p.put(2)
    assert p.move()["taken"] == 2
    assert [content for content, _ in p.take_all(p.at_b)] == contents(2)


def test_who_cannot_read_it_has_it_back_unharmed() -> None:
    """The queue does not exist at the other node."""
    p = Pair(is_at_b=False)
    p.put(2)
    answer = p.move()
    assert (answer["taken"], answer["refused"]) == (0, 2)
    assert p.take_all(p.at_a) == [(each, 0) for each in contents(2)]


# --- refused moves ----------------------------------------------------------------------------------------


def test_what_cannot_be_moved_is_told() -> None:
    p = Pair(nodes=("a", "b"))
    cannot = {
        "nothing is in it": ("b", "NOTHING_READY"),
        "there it is": ("a", "BAD_ARGUMENT"),
        "nobody knows it": ("carl", "UNKNOWN_NODE"),
    }
    for to, code in cannot.values():
        assert p.at_a.ask("queue_move", name="jobs", to=to).code == code
    assert p.at_a.ask("queue_move", name="job", to="b").code == "NO_QUEUE"
    for count in (0, -1, 10_001, 2**63, "", None, 0.5, float("nan")):
        assert p.at_a.ask("queue_move", name="jobs", to="b", count=count).code == "BAD_QUERY"
    p.put(1)
    p.b.kill()
    p.net.until(lambda: not p.a.alive)
    assert p.at_a.ask("queue_move", name="jobs", to="b").code == "NODE_AWAY"
    assert p.figures(p.a) == (1, 0)


@pytest.mark.parametrize("n", [5, 250])
def test_a_node_that_stands_still_is_an_error_that_says_what_is_known(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 100
    monkeypatch.setattr(leaving, "TRANSFERS_OPEN", most)
    p = Pair()
    p.logged_in()
    p.put(n)
    asked = p.at_a.asks("queue_move", name="jobs", to="b")
    if n > most:
        p.net.until(lambda: p.figures(p.a)[0] < n - most)
    begun = p.net.now
    p.net.cut("a", "b")
    p.net.until(lambda: p.at_a.said(asked))
    reply = p.at_a.said(asked)
    assert reply is not None and p.net.now - begun < 6
    ready, going = p.figures(p.a)
    assert (reply.code, "b does not answer" in reply.text) == ("NODE_AWAY", True)
    assert f"; still in transit: {counted(going, 'message')}." in reply.text
    if known := n - ready - going:
        assert f"; b accepted {counted(known, 'message')}" in reply.text
    assert (known > 0) is (n > most)
    p.net.heal()
    p.net.until(lambda: p.figures(p.a)[1] == 0)
    assert sum(p.figures(p.a) + p.figures(p.b)) == n


def test_a_node_of_an_earlier_release_is_sent_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork()
    net.is_watched = True
    a = net.node("a")
    monkeypatch.setattr(Moving, "features", lambda self: ())
    b = net.node("b", "a")
    net.until(lambda: a.alive and b.alive)
    boss = Worker(a, "boss")
    boss.declare("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: boss.state_of("jobs", 1) == "OK")
    assert boss.ask("queue_move", name="jobs", to="b").code == "NOT_AVAILABLE"
    assert "Transfer" not in {command for _, _, command in net.seen}
    assert (
        TRANSFERS in a.core.parts.context.face.features
        and TRANSFERS not in b.core.parts.context.face.features
    )


# --- stores -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_b", scenarios([25_000, 1 << 27]))
def test_more_than_memory_holds_moves_in_turns_and_memory_keeps_its_bound(
    at_b: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead, many, memory = 50, 400, 25_000
    monkeypatch.setattr(delivery_order, "AHEAD", ahead)
    monkeypatch.setattr(disk_index, "LOTS", ahead)
    net = SimNetwork()
    a, b = net.node("a", memory_bytes=memory), net.node("b", "a", memory_bytes=at_b)
    net.until(lambda: a.alive and b.alive)
    boss, joe = Worker(a, "boss"), Worker(b, "joe")
    for worker in (boss, joe):
        worker.declare("jobs")
    for n in range(many):
        boss.put("jobs", b"%d" % n)
    net.until(lambda: boss.state_of("jobs", many) == "OK")
    here, there = (node.core.parts[QueueParts].queues.get("jobs").part for node in (a, b))
    taken = 0
    while here.ready:
        taken += boss.ok(boss.ask("queue_move", name="jobs", to="b"))["taken"]
        assert here.backlog._memory.used <= memory + 2 * ahead * 1_200
    assert taken == there.ready == many
    assert there.backlog._memory.used <= at_b + ahead * 1_200
    b.restart()
    found: list[int] = []
    ann = Worker(b, "ann")
    ann.take("jobs", credit=500)
    while len(found) < many:
        net.until(lambda found=found: len(ann.contents()) > len(found))  # type: ignore[misc]
        before, found = len(found), [int(content) for content in ann.contents()]
        assert ann.settle(before + 1, len(found)) == []
    assert sorted(found) == list(range(many)) and set(ann.tries[1]) == {0}
    net.until(lambda: a.metric("stored_envelopes") == b.metric("stored_envelopes") == 0)
    net.run(2)
    for node in (a, b):
        assert {*node.disk.store.load().tables["part"]} <= {b"jobs\0"}, "the mark alone"
        assert not list(node.disk.store.load().envelopes)


def test_after_an_old_copy_of_a_store_was_put_back_what_may_have_been_given_says_so() -> None:
    """The other node resends what the old copy lacks. No node stops, and no message is lost."""
    p = Pair()
    p.logged_in()
    old = copy.deepcopy(p.b.disk.store)
    p.put(3)
    p.begin()
    p.net.until(lambda: p.figures(p.b) == (3, 0))
    p.net.break_all("a", "b")  # before b has answered
    assert p.figures(p.a) == (0, 3)
    p.b.kill()
    p.b.disk.store = old
    p.b._settings["accept_rollback"] = True
    p.b.start()
    p.net.until(lambda: p.rested(0, 3))
    p.b._settings["accept_rollback"] = False
    p.b.restart()
    found = p.take_all(Worker(p.b, "bob"))
    assert sorted(content for content, _ in found) == contents(3)
    assert all(tries for _, tries in found)


def test_a_queue_whose_definition_is_gone_sends_on_what_was_on_its_way() -> None:
    p = Pair(scope="node")
    p.logged_in()
    p.put(3)
    p.b.kill()
    p.net.until(lambda: p.begin() or p.figures(p.a)[1])
    p.net.run(1)
    assert p.figures(p.a) == (0, 3)
    p.a.kill()
    p.a.disk.store.load().tables["queue"].clear()
    p.a.disk.store._tables["queue"].clear()
    p.a.start()
    assert p.figures(p.a) == (0, 3)
    p.b.start()
    p.net.until(lambda: p.rested(0, 3))
