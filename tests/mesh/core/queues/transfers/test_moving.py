"""Messages of a queue that move to another node: whatever breaks, each is there, and at one place."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.core.queues.moves.byhand import next_ones
from mesh.core.queues.transfers import leaving, sources
from mesh.core.queues.transfers.moving import Moving
from mesh.queues.lots import ondisk
from mesh.queues.part import partial
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.frames import write
from mesh.wire.limits import QUEUES, SERVICES, TRANSFERS
from tests.mesh.core.queues.worker import Worker
from tests.mesh.core.stranger import Stranger
from tests.seeds import stories
from tests.simulation import SimNetwork, SimNode

MEMORY = "memory"


class Pair:
    """Two nodes with a queue, and who looks at it at each."""

    def __init__(
        self, seed: int = 0, at_b: dict[str, Any] | None = None, is_at_b: bool = True, **terms: Any
    ) -> None:
        self.net = SimNetwork(seed)
        self.a = self.net.node("a")
        self.b = self.net.node("b", "a", **(at_b or {}))
        self.net.until(lambda: self.a.alive and self.b.alive)
        self.at_a, self.at_b = Worker(self.a, "boss"), Worker(self.b, "joe")
        self.at_a.declare("jobs", **terms)
        if is_at_b:
            self.at_b.declare("jobs", **terms)
        else:
            self.at_b.ok(self.at_b.ask("queue_remove", name="jobs"))

    def put(self, n: int, at: Worker | None = None, **how: Any) -> None:
        """So many envelopes, of one message each."""
        at = at or self.at_a
        for i in range(n):
            number = at.put("jobs", str(i).encode(), **how)
        self.net.until(lambda: at.state_of("jobs", number) == "OK")

    def move(self, to: str = "b", **how: Any) -> dict[str, Any]:
        return self.at_a.ok(self.at_a.ask("queue_move", name="jobs", to=to, **how))

    def logged_in(self) -> None:
        """As it is after a first move."""
        self.put(1)
        self.move()
        self.take_all(self.at_b)

    def begin(self, n: int = 1_000) -> int:
        """Without a word of any client."""
        queue = self.a.core.parts.queues.queues.get("jobs")
        moving = self.a.core.parts.queues.moving
        moved = moving.begin(queue, self.b.uuid, next_ones(queue.part, n))
        self.a._carry_out_all()
        return moved

    def figures(self, node: SimNode) -> tuple[int, int]:
        """(ready, on their way) at a node."""
        part = node.core.parts.queues.queues.get("jobs").part
        return part.ready, part.going

    def rested(self, at_a: int, at_b: int) -> bool:
        """Is nothing on its way any more, and so many are ready at each?"""
        return (self.figures(self.a), self.figures(self.b)) == ((at_a, 0), (at_b, 0))

    def take_all(self, worker: Worker) -> list[tuple[bytes, int]]:
        """What is in the queue there, with how often each was given out before; it is acked."""
        part = worker.node.core.parts.queues.queues.get("jobs").part
        if not part.messages:
            return []
        self.net.until(lambda: not part.is_recovering)
        n = part.ready
        worker.take("jobs", credit=1000)
        self.net.until(lambda: len(worker.got[1]) >= n)
        assert worker.settle(1, n) == []
        worker.leave("jobs")
        return list(zip(worker.contents(), worker.tries[1], strict=True))


def contents(n: int) -> list[bytes]:
    return [str(i).encode() for i in range(n)]


def moved_rows(node: SimNode) -> int:
    return len(node.disk.store.load().tables["moved"])


def test_what_is_moved_is_at_the_other_node_as_it_was_put_and_nowhere_else() -> None:
    p = Pair()
    p.put(3, put=(7, 0, "eu"), color="red")
    p.put(1, flags=0)
    assert p.move() == {"taken": 4, "refused": 0, "going": 0, "rest": False}
    assert p.rested(0, 4)
    assert p.net.now < 30
    p.at_b.take("jobs")
    p.net.until(lambda: len(p.at_b.got[1]) == 4)
    queue = p.b.core.parts.queues.queues.get("jobs")
    (taker,) = queue.part.takers.values()
    lots = [run.lot for run in taker.holding.take(1, 4)]
    first = lots[0].envelope
    assert (first.stream, first.first, first.put, first.sender) == (
        p.at_a.stream, 1, (7, 0, "eu"), f"{p.at_a.session}",
    )  # fmt: skip
    assert [lot.moves for lot in lots] == [1] * 4
    assert p.a.metric("queue_moved_out") == p.b.metric("queue_moved_in") == 4
    told = [node.core.parts.queues.queues.get("jobs").waiting() for node in (p.a, p.b)]
    assert [(each.moved_in, each.moved_out, each.ready) for each in told] == [(0, 4, 0), (4, 0, 0)]
    assert p.a.core.parts.queues.moving.transfers_to == {"b": 4}
    p.net.until(lambda: p.a.metric("stored_envelopes") == 0)


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


@pytest.mark.parametrize("seed", stories(range(12), 2))
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
    p.net.run(1)  # until it has been sent again
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


# --- ends -------------------------------------------------------------------------------------------------


def test_of_a_node_that_will_not_come_back_all_is_ready_again_and_says_that_it_may_have_been_given() -> None:
    p = Pair()
    p.logged_in()
    p.put(3)
    p.b.kill()
    p.begin()
    p.net.until(lambda: p.figures(p.a) == (0, 3))
    p.net.until(lambda: not p.a.alive)
    p.a.core.parts.neighbours.acquaintances.remove("b")
    p.a._carry_out_all()
    p.net.until(lambda: p.figures(p.a) == (3, 0))
    assert p.take_all(p.at_a) == [(each, 1) for each in contents(3)]
    assert sum("3 messages of 'jobs' that were on their way" in note for note in p.a.notes) == 1


def test_what_has_come_from_a_node_is_remembered_until_that_is_gone_or_the_queue() -> None:
    p = Pair()
    p.logged_in()
    assert (moved_rows(p.a), moved_rows(p.b)) == (0, 1)
    p.b.restart()
    assert moved_rows(p.b) == 1
    p.a.kill()
    p.net.until(lambda: not p.b.alive)
    p.b.core.parts.neighbours.acquaintances.remove("a")
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
    """A node where the queue is not, or not any more."""
    p = Pair(is_at_b=False)
    p.put(2)
    answer = p.move()
    assert (answer["taken"], answer["refused"]) == (0, 2)
    assert p.take_all(p.at_a) == [(each, 0) for each in contents(2)]


# --- what cannot be ---------------------------------------------------------------------------------------


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
    assert f"; {going:,} are on their way there." in reply.text
    if known := n - ready - going:
        assert f"; it has taken {known:,} messages" in reply.text
    assert (known > 0) is (n > most)
    p.net.heal()
    p.net.until(lambda: p.figures(p.a)[1] == 0)
    assert sum(p.figures(p.a) + p.figures(p.b)) == n


def test_a_node_of_an_earlier_release_is_sent_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork()
    net.is_watched = True
    a = net.node("a")
    monkeypatch.setattr(Moving, "speaks", lambda self: ())
    b = net.node("b", "a")
    net.until(lambda: a.alive and b.alive)
    boss = Worker(a, "boss")
    boss.declare("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: boss.state_of("jobs", 1) == "OK")
    assert boss.ask("queue_move", name="jobs", to="b").code == "NOT_AVAILABLE"
    assert "Transfer" not in {command for _, _, command in net.seen}
    assert TRANSFERS in a.core.parts.desk.face.speaks and TRANSFERS not in b.core.parts.desk.face.speaks


# --- stores -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_b", stories([25_000, 1 << 27]))
def test_more_than_memory_holds_moves_in_turns_and_memory_keeps_its_bound(
    at_b: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead, many, memory = 50, 400, 25_000
    monkeypatch.setattr(partial, "AHEAD", ahead)
    monkeypatch.setattr(ondisk, "LOTS", ahead)
    net = SimNetwork()
    a, b = net.node("a", memory_bytes=memory), net.node("b", "a", memory_bytes=at_b)
    net.until(lambda: a.alive and b.alive)
    boss, joe = Worker(a, "boss"), Worker(b, "joe")
    for worker in (boss, joe):
        worker.declare("jobs")
    for n in range(many):
        boss.put("jobs", b"%d" % n)
    net.until(lambda: boss.state_of("jobs", many) == "OK")
    here, there = (node.core.parts.queues.queues.get("jobs").part for node in (a, b))
    taken = 0
    while here.ready:
        taken += boss.ok(boss.ask("queue_move", name="jobs", to="b"))["taken"]
        assert here._memory.used <= memory + 2 * ahead * 1_200
    assert taken == there.ready == many
    assert there._memory.used <= at_b + ahead * 1_200
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
    """The other node sends again what that has forgotten; nobody stops, and nothing is lost."""
    p = Pair()
    p.logged_in()
    old = copy.deepcopy(p.b.disk.store)
    p.put(3)
    p.begin()
    p.net.until(lambda: p.figures(p.b) == (3, 0))
    p.net.break_all("a", "b")  # before it has said so
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


# --- what a liar says -------------------------------------------------------------------------------------


class Liar(Stranger):
    """A node that says of queues what it likes."""

    def __init__(self, node: SimNode) -> None:
        super().__init__(node)
        self.as_node(name="liar", versions=(1, 2), speaks=(TRANSFERS, QUEUES, SERVICES))
        self.net.until(lambda: any(isinstance(x, c.Welcome) for x in self.heard))

    def transfer(
        self, *numbers: int, low: int = 1, is_again: bool = False, moves: int = 1, **how: Any
    ) -> None:
        e = replace(
            Envelope(
                b"L" * 16, "queue/jobs", 1, 1, ("k",), 1, 1, b"x", flags=PERSISTENT, sent=5, to="queue/jobs"
            ),
            **how,
        )
        entries = tuple((n, is_again, moves, b"") for n in numbers)
        self.say(c.Transfer("jobs", low, (1,) * len(numbers), entries), *[e] * len(numbers))
        self.net.run(0.5)

    @property
    def answers(self) -> list[tuple[Any, ...]]:
        return [(x.taken, x.refused, x.unsure) for x in self.heard if isinstance(x, c.Transferred)]


def with_liar() -> tuple[SimNode, Worker, Liar]:
    net = SimNetwork()
    a = net.node("a")
    boss = Worker(a, "boss")
    boss.declare("jobs", max_count=100)
    return a, boss, Liar(a)


def test_what_comes_twice_is_taken_once_and_what_cannot_be_in_a_queue_never() -> None:
    a, boss, liar = with_liar()
    liar.transfer(1, 2)
    liar.transfer(2, is_again=True)
    liar.transfer(2)
    assert liar.answers == [((1, 2), (), ()), ((2, 2), (), ()), ((), (2, 2), ())]
    wrong: list[dict[str, Any]] = [
        {"to": "queue/others"}, {"domain": "queue/others"}, {"to": ""}, {"to": "client/joe"}, {"domain": ""},
        {"flags": 33}, {"flags": 32}, {"flags": 1 | 4096}, {"keys": ("#",)},
        {"props": (1).to_bytes(4, "little"), "body": b"\xc1", "sizes": 1},
    ]  # fmt: skip
    for number, how in enumerate(wrong, start=10):
        liar.transfer(number, **how)
        assert liar.answers[-1] == ((), (number, number), ())
    assert boss.info("jobs")["ready"] == 2 and not liar.is_gone
    a.restart()
    assert Worker(a, "ann").info("jobs")["ready"] == 2


def test_a_clock_that_is_years_ahead_elsewhere_does_not_move_ours() -> None:
    a, boss, liar = with_liar()
    liar.transfer(1, sent=2**62)
    liar.transfer(2, sent=0)
    boss.put("jobs", b"y")
    boss.net.until(lambda: boss.state_of("jobs", 1) == "OK")
    a.restart()
    ann = Worker(a, "ann")
    ann.take("jobs")
    ann.net.until(lambda: len(ann.contents()) == 3)
    queue = a.core.parts.queues.queues.get("jobs")
    (taker,) = queue.part.takers.values()
    sent = [run.lot.envelope.sent for run in taker.holding.take(1, 3)]
    assert all(1 <= each <= a.wall + 61 * 10**9 for each in sent)


def test_who_fills_a_queue_is_refused_and_who_takes_all_numbers_is_forgotten() -> None:
    _, boss, liar = with_liar()
    for first in range(1, 200, 40):
        liar.transfer(*range(first, first + 40))
    assert boss.info("jobs")["ready"] == 100
    liar.transfer(2**63 - 1, low=2**63 - 1, is_again=True)
    liar.transfer(5, low=2**63 - 1, is_again=True)
    assert liar.answers[-1] == ((), (), (5, 5))
    assert not liar.is_gone


def test_what_nobody_knows_leaves_no_trace() -> None:
    a, boss, liar = with_liar()
    for name in ("other", "jobs2", "x" * 200):
        liar.say(
            c.Transfer(name, 1, (1,), ((1, True, 1, b""),)), Envelope(b"L" * 16, "", 1, 1, ("",), 1, 0, b"")
        )
        liar.say(c.Transferred(name, (1, 2**63 - 1)))
    liar.say(c.Transferred("jobs", (1, 2**63 - 1), (1, 5), (7, 7)))
    assert liar.answers == [((), (), (1, 1))] * 3
    assert not liar.is_gone and not list(a.core.parts.queues.arriving._sources)
    boss.put("jobs", b"y")
    boss.net.until(lambda: boss.state_of("jobs", 1) == "OK")


def test_clients_cannot_say_any_of_it() -> None:
    a, boss, _ = with_liar()
    e = Envelope(b"s" * 16, "queue/jobs", 1, 1, ("k",), 1, 1, b"x", to="queue/jobs")
    for said in ((c.Transferred("jobs", (1, 1)),), (c.Transfer("jobs", 1, (1,), ((1, False, 1, b""),)), e)):
        stranger = Stranger(a)
        stranger.as_client(key=type(said[0]).__name__.encode().ljust(32))
        stranger.say(*said)
        assert stranger.refusal == "UNEXPECTED"
    assert boss.info("jobs")["ready"] == 0


def test_nodes_for_which_a_queue_is_not_declared_take_nothing() -> None:
    p = Pair(nodes=("a",))
    p.put(1)
    assert p.at_a.ask("queue_move", name="jobs", to="b").code == "BAD_ARGUMENT"
    p.a.core.parts.neighbours.review_login(p.a.core.parts.neighbours.peers[p.b.uuid])
    Liar(p.b).transfer(1)
    assert p.figures(p.b) == (0, 0)


def test_what_an_old_copy_of_a_store_brings_back_says_that_it_may_have_been_given() -> None:
    """Also when it moves on, after further restarts, and not what was put since."""
    p = Pair()
    p.put(4)
    p.net.run(2)
    old = copy.deepcopy(p.a.disk.store)
    assert p.move()["taken"] == 4
    assert p.take_all(p.at_b) == [(each, 0) for each in contents(4)]
    p.a.kill()
    p.a.disk.store = old
    p.a._settings["accept_rollback"] = True
    p.a.start()
    p.net.until(lambda: p.a.core.parts.desk.serves and p.a.alive)
    p.net.run(2)
    p.a._settings["accept_rollback"] = False
    p.a.restart()
    p.net.until(lambda: p.a.alive)
    p.at_a = Worker(p.a, "ann")
    p.put(1)
    assert p.move(count=2)["taken"] == 2
    assert p.take_all(Worker(p.b, "bob")) == [(b"0", 1), (b"1", 1)]
    assert p.take_all(p.at_a) == [(b"2", 1), (b"3", 1), (b"0", 0)]


def test_what_was_said_on_an_older_connection_changes_nothing() -> None:
    p = Pair(at_b={"stores": (("jobs", MEMORY),), "volatile": frozenset((MEMORY,))})
    p.put(2)
    p.move()
    moving, peer = p.a.core.parts.queues.moving, p.a.core.parts.neighbours.peers[p.b.uuid]
    said = c.Transferred("jobs", (1, 2**63 - 1))
    moving._answered(None, peer, said)
    assert p.figures(p.a) == (0, 2)
    moving._answered(peer.data, peer, said)
    assert p.figures(p.a) == (0, 0)


def test_what_a_node_refuses_that_has_forgotten_what_it_had_may_have_been_given_there() -> None:
    p = Pair(max_count=3)
    p.logged_in()
    p.put(3, at=p.at_b)
    p.net.run(2)
    old = copy.deepcopy(p.b.disk.store)
    p.take_all(p.at_b)
    p.put(2)
    p.begin()
    p.net.until(lambda: p.figures(p.b) == (2, 0))
    p.net.break_all("a", "b")  # before it has said so
    p.b.kill()
    p.b.disk.store = old
    p.b._settings["accept_rollback"] = True
    p.b.start()
    p.net.until(lambda: p.figures(p.a) == (2, 0))
    assert p.take_all(p.at_a) == [(b"0", 1), (b"1", 1)]


def test_each_move_is_counted_and_what_was_tried_in_vain_stays_known() -> None:
    p = Pair()
    p.put(1)
    p.at_a.take("jobs")
    p.net.until(lambda: p.at_a.contents() == [b"0"])
    assert p.at_a.settle(entries=((1, 1, c.NACK, 0, ""),)) == []
    p.at_a.leave("jobs", begun=1)
    p.move()
    p.at_b.ok(p.at_b.ask("queue_move", name="jobs", to="a"))
    (lot,) = p.a.core.parts.queues.queues.get("jobs").part.next()
    failed = lot.failures(1)
    assert lot.moves == 2 and failed >= 1
    p.net.run(2)
    p.a.restart()
    p.net.until(lambda: p.figures(p.a) == (1, 0))
    (lot,) = p.a.core.parts.queues.queues.get("jobs").part.next()
    assert (lot.moves, lot.failures(1)) == (2, failed)


def test_what_found_no_room_on_the_disk_is_not_known_as_taken_whatever_follows() -> None:
    a, _, liar = with_liar()
    e = Envelope(b"L" * 16, "queue/jobs", 1, 1, ("k",), 1, 1, b"x", flags=PERSISTENT, sent=5, to="queue/jobs")
    a.disk.is_full = True
    commits = []
    commit = a.disk.commit

    def once_full(ops: Any) -> None:
        commits.append(ops)
        try:
            commit(ops)
        finally:
            a.disk.is_full = False

    a.disk.commit = once_full  # type: ignore[method-assign]
    for number in (1, 2):
        assert liar._pipe is not None
        said = c.Transfer("jobs", 1, (1,), ((number, False, 1, b""),))
        liar._pipe.send(0, write(said, [e]))
    liar.net.until(lambda: len(liar.answers) == 2)
    assert liar.answers == [((), (1, 1), ()), ((2, 2), (), ())]
    a.disk.commit = commit  # type: ignore[method-assign]
    a.restart()
    again = Liar(a)
    again.transfer(1, is_again=True)
    again.transfer(2, is_again=True)
    assert again.answers == [((1, 1), (), ()), ((2, 2), (), ())]
    assert Worker(a, "ann").info("jobs")["ready"] == 2


def test_what_comes_before_a_node_knows_how_old_its_store_is_waits_for_that() -> None:
    a, boss, liar = with_liar()
    a.core.parts.desk.serves = False
    liar.transfer(1)
    assert liar.answers == []
    a.core.parts.desk.serves = True
    boss.net.until(lambda: liar.answers == [((1, 1), (), ())])


def test_who_sends_more_than_may_be_under_way_has_the_rest_back(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 200
    monkeypatch.setattr(sources, "TRANSFERS_OPEN", most // 2)
    a, _, liar = with_liar()
    a.core.parts.desk.serves = False
    for first in range(1, most + 41, 40):
        liar.transfer(*range(first, first + 40), is_again=first > most)
    assert liar.answers == [((), (), (most + 1, most + 40))]
