"""Messages that arrive from another node: each is accepted once, whatever that node sends."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.features.queues.node.parts import QueueParts
from mesh.features.queues.node.transfers import sources
from mesh.features.queues.wire import Transfer, Transferred
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.frames import write
from mesh.wire.limits import QUEUES, SERVICES, TRANSFERS
from tests.mesh.features.queues.node.pair import MEMORY, Pair, contents
from tests.mesh.features.queues.node.worker import Worker
from tests.mesh.kernel.stranger import Stranger
from tests.simulation import SimNetwork, SimNode


class Liar(Stranger):
    """A node that sends any commands about queues."""

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
        self.say(Transfer("jobs", low, (1,) * len(numbers), entries), *[e] * len(numbers))
        self.net.run(0.5)

    @property
    def answers(self) -> list[tuple[Any, ...]]:
        return [(x.taken, x.refused, x.unsure) for x in self.heard if isinstance(x, Transferred)]


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
    queue = a.core.parts[QueueParts].queues.get("jobs")
    (taker,) = queue.part.takers.values()
    sent = [run.queued.envelope.sent for run in taker.holding.settle(1, 3)]
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
            Transfer(name, 1, (1,), ((1, True, 1, b""),)), Envelope(b"L" * 16, "", 1, 1, ("",), 1, 0, b"")
        )
        liar.say(Transferred(name, (1, 2**63 - 1)))
    liar.say(Transferred("jobs", (1, 2**63 - 1), (1, 5), (7, 7)))
    assert liar.answers == [((), (), (1, 1))] * 3
    assert not liar.is_gone and not list(a.core.parts[QueueParts].arriving._sources)
    boss.put("jobs", b"y")
    boss.net.until(lambda: boss.state_of("jobs", 1) == "OK")


def test_clients_cannot_say_any_of_it() -> None:
    a, boss, _ = with_liar()
    e = Envelope(b"s" * 16, "queue/jobs", 1, 1, ("k",), 1, 1, b"x", to="queue/jobs")
    for said in ((Transferred("jobs", (1, 1)),), (Transfer("jobs", 1, (1,), ((1, False, 1, b""),)), e)):
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
    """This holds after moves and restarts, but not for later messages."""
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
    p.net.until(lambda: p.a.core.parts.context.serves and p.a.alive)
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
    moving, peer = p.a.core.parts[QueueParts].moving, p.a.core.parts.neighbours.peers[p.b.uuid]
    said = Transferred("jobs", (1, 2**63 - 1))
    moving._on_transferred(None, peer, said)
    assert p.figures(p.a) == (0, 2)
    moving._on_transferred(peer.data, peer, said)
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
    p.net.break_all("a", "b")  # before b has answered
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
    (queued,) = p.a.core.parts[QueueParts].queues.get("jobs").part.order.ready_envelopes()
    failed = queued.failures(1)
    assert queued.moves == 2 and failed >= 1
    p.net.run(2)
    p.a.restart()
    p.net.until(lambda: p.figures(p.a) == (1, 0))
    (queued,) = p.a.core.parts[QueueParts].queues.get("jobs").part.order.ready_envelopes()
    assert (queued.moves, queued.failures(1)) == (2, failed)


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
        said = Transfer("jobs", 1, (1,), ((number, False, 1, b""),))
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
    a.core.parts.context.serves = False
    liar.transfer(1)
    assert liar.answers == []
    a.core.parts.context.serves = True
    boss.net.until(lambda: liar.answers == [((1, 1), (), ())])


def test_who_sends_more_than_may_be_under_way_has_the_rest_back(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 200
    monkeypatch.setattr(sources, "TRANSFERS_OPEN", most // 2)
    a, _, liar = with_liar()
    a.core.parts.context.serves = False
    for first in range(1, most + 41, 40):
        liar.transfer(*range(first, first + 40), is_again=first > most)
    assert liar.answers == [((), (), (most + 1, most + 40))]
