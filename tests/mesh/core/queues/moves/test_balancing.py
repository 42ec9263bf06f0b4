"""Does each message of a queue go where it is taken, at once or when it has waited in vain, and only then?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from mesh.core.queues.keeping.here import QueueHere
from mesh.core.queues.moves import balancing
from mesh.core.queues.moves.stocks import REST
from mesh.core.queues.transfers import leaving
from mesh.queues.lots import ondisk
from mesh.queues.part import partial
from mesh.wire.limits import TRANSFERS
from tests.mesh.core.queues.carrier import Carrier
from tests.mesh.core.queues.worker import Worker
from tests.mesh.queues.part.test_watching import Ear
from tests.simulation import SimNetwork, SimNode


class Several:
    """Nodes with a queue `jobs` between which messages move, and a client at each node that puts."""

    moves = True

    def __init__(self, n: int = 3, settings: dict[str, Any] | None = None, **terms: Any) -> None:
        self.net = SimNetwork()
        self.nodes = self.net.mesh(*"abcde"[:n], **(settings or {}))
        self.carriers = [Carrier(node, self.nodes) for node in self.nodes] if not self.moves else []
        self.bosses = [Worker(node, f"boss{node.name}") for node in self.nodes]
        for boss in self.bosses:  # definitions spread with states, which these nodes do not gossip
            boss.declare("jobs", **terms)
        self.takers: dict[int, list[Worker]] = {}

    def find(self, node: SimNode, name: str = "jobs") -> QueueHere | None:
        return node.core.parts.queues.queues.find(name)

    def queue(self, i: int) -> QueueHere:
        found = self.find(self.nodes[i])
        assert found is not None
        return found

    def take(self, *places: int, credit: int = 100, **more: Any) -> list[Worker]:
        """Somebody takes at each of these nodes, and all know it who want to."""
        made = []
        for i in places:
            made.append(Worker(self.nodes[i], f"taker{i}{len(self.takers.setdefault(i, []))}"))
            self.takers[i].append(made[-1])
            made[-1].take("jobs", credit=credit, **more)
        self.net.run(0.2)
        return made

    def put(self, i: int, numbers: Iterable[int], at_once: bool = False, **how: Any) -> None:
        boss, contents = self.bosses[i], [b"%d" % n for n in numbers]
        if at_once:
            boss.put("jobs", *contents, **how)
        else:
            for each in contents:
                boss.put("jobs", each, **how)
        self.net.until(lambda: boss.state_of("jobs", boss.puts["jobs"]) == "OK")

    def know(self, i: int) -> None:
        """Node i has asked who takes."""
        self.put(i, [0])
        self.net.run(0.3)

    def had(self, i: int) -> list[int]:
        return [int(each) for it in self.takers.get(i, []) for each in it.contents()]

    def ready(self) -> list[int]:
        return [self.queue(i).part.ready for i in range(len(self.nodes))]

    def sent(self, i: int) -> int:
        """Messages that node i has sent to others, whatever became of them."""
        if not self.moves:
            return self.carriers[i].sent.total()
        figures = self.nodes[i].core.parts.queues.moving.figures()
        return int(sum(figures.values()))


class Carried(Several):
    """Such nodes, with carriers in place of the moves: a test sets their room and what they refuse."""

    moves = False


TEN = list(range(1, 11))

# --- what was put -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [True, False])
def test_B5_of_two_nodes_where_it_is_taken_one_has_the_even_ones_and_one_the_odd_ones(at_once: bool) -> None:
    it = Several()
    it.take(1, 2)
    it.put(0, range(1, 101), at_once)
    it.net.until(lambda: len(it.had(1)) + len(it.had(2)) == 100)
    assert sorted([it.had(1), it.had(2)]) == [list(range(1, 101, 2)), list(range(2, 101, 2))]
    assert it.sent(0) == 100 and it.sent(1) == it.sent(2) == 0


def test_B6_who_takes_at_the_node_where_it_is_put_has_all() -> None:
    it = Several()
    it.take(0, 1)
    it.put(0, range(1, 101))
    it.net.until(lambda: len(it.had(0)) == 100)
    it.net.run(3)
    assert it.had(0) == list(range(1, 101)) and it.sent(0) == 0


def test_C1_each_of_five_has_two() -> None:
    it = Several(5, distribution="round_robin")
    it.take(0, 1, 2, 3, 4)
    it.put(0, [0])
    it.net.run(0.3)
    it.put(0, TEN)
    it.net.until(lambda: sum(len(it.had(i)) for i in range(5)) == 11)
    assert sorted(len([n for n in it.had(i) if n]) for i in range(5)) == [2, 2, 2, 2, 2]


def test_C2_who_comes_later_has_nothing_of_what_was_given_before() -> None:
    it = Several(3, distribution="round_robin", redistribution=0.0)
    it.take(0)
    it.put(0, TEN)
    it.take(1, 2)
    it.net.run(2)
    assert it.had(0) == TEN and it.sent(0) == 0


@pytest.mark.parametrize("is_there", [False, True])
def test_C3_strict_is_in_turn_whoever_takes(is_there: bool) -> None:
    it = Several(2, distribution="strict")
    if is_there:
        it.take(0)
    it.put(0, TEN)
    it.net.until(lambda: it.sent(0) == 5 and it.queue(1).part.messages == 5)
    it.take(1) if is_there else it.take(0, 1)
    it.net.until(lambda: len(it.had(0)) == len(it.had(1)) == 5)
    assert sorted([it.had(0), it.had(1)]) == [TEN[::2], TEN[1::2]]
    it.net.run(3)
    assert it.sent(0) == 5 and it.sent(1) == 0


def test_C4_independent_stays() -> None:
    it = Several(2, distribution="independent")
    it.take(0, 1)
    it.put(0, TEN)
    it.net.run(3)
    assert it.had(0) == TEN and it.sent(0) == 0


def test_B2_queues_of_one_node_each_know_nothing_of_others_with_their_name() -> None:
    it = Several(3)
    for boss in it.bosses:
        boss.declare("own", scope="node")
    takers = [Worker(node, f"own{node.name}") for node in it.nodes]
    for n in range(3):
        for i, taker in enumerate(takers):
            taker.take("own", number=n + 1, credit=100) if i != n else None
        it.bosses[n].put("own", *(b"%d" % i for i in range(100)))
        it.net.run(2)
        assert all(taker.contents(n + 1) == [] for taker in takers)
        takers[n].take("own", number=n + 1, credit=100)
        it.net.until(lambda: len(takers[n].contents(n + 1)) == 100)  # noqa: B023
        assert takers[n].contents(n + 1) == [b"%d" % i for i in range(100)]
        for i, taker in enumerate(takers):
            taker.settle(1, 100, number=n + 1) if i == n else None
            taker.leave("own", number=n + 1)
    assert [it.sent(i) for i in range(3)] == [0, 0, 0]
    taker = Worker(it.nodes[0], "another")
    taker.take("own")
    assert not it.nodes[0].core.parts.services.presence.own


def test_B20_nothing_is_sent_where_nothing_matches() -> None:
    it = Several()
    it.take(2, selector="color == 'red'")
    it.put(0, range(100), color="blue")
    it.put(0, range(100, 200), at_once=True, color="blue")
    it.net.run(5)
    assert it.sent(0) == 0 and it.ready() == [200, 0, 0]
    it.put(0, [7], color="red")
    it.net.until(lambda: it.had(2) == [7])
    it.net.run(5)
    assert [it.sent(i) for i in range(3)] == [1, 0, 0]


def test_what_is_put_first_of_all_waits_until_it_is_known_who_takes_and_then_goes_at_once() -> None:
    it = Several()
    it.take(1)
    start = it.net.now
    it.put(0, TEN)
    it.net.until(lambda: it.had(1) == TEN)
    assert it.net.now - start < 0.3


def test_messages_stay_only_where_the_queue_says() -> None:
    it = Several(3, nodes=["b"])
    it.put(0, TEN)
    it.net.until(lambda: it.ready() == [0, 10, 0])
    it.take(2)
    it.put(2, range(11, 21))
    it.net.until(lambda: it.ready() == [0, 20, 0] or len(it.had(2)) == 20)


def test_what_may_not_stay_goes_as_soon_as_a_home_is_there() -> None:
    it = Carried(2, nodes=["b"])
    it.nodes[1].kill()
    it.put(0, TEN)
    it.net.run(3)
    assert it.queue(0).part.ready == 10
    it.nodes[1].restart()
    it.carriers[1] = Carrier(it.nodes[1], it.nodes)
    it.net.until(lambda: it.ready() == [0, 10], limit=60)


def test_of_what_has_no_room_on_the_way_the_rest_goes_when_a_move_ends_in_its_order() -> None:
    it = Carried()
    it.take(1)
    it.know(0)
    it.carriers[0].room = 3
    it.put(0, TEN)
    it.net.until(lambda: len(it.had(1)) == 11)
    assert it.had(1) == [0, *TEN] and it.sent(0) == 11


def test_what_waits_for_room_on_the_way_is_for_who_takes_here_meanwhile() -> None:
    it = Carried(2)
    it.take(1)
    it.know(0)
    it.carriers[0].room = 0
    it.put(0, TEN)
    it.take(0)
    it.net.until(lambda: it.had(0) == TEN)
    it.carriers[0].room = 1000
    it.put(0, [11])
    it.net.run(3)
    assert it.had(1) == [0] and it.had(0) == [*TEN, 11]


def test_more_than_may_wait_for_room_stays_and_moves_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balancing, "WAITING", 4)
    it = Carried(2)
    it.take(1)
    it.know(0)
    it.carriers[0].room = 1
    it.put(0, TEN)
    spread = it.nodes[0].core.parts.queues.balancing._spreads[it.queue(0)]
    assert spread.count <= 4
    it.net.until(lambda: sorted(it.had(1)) == [0, *TEN], limit=30)
    assert it.sent(0) == 11


def test_who_refuses_is_left_alone_for_a_while_and_nothing_is_lost() -> None:
    it = Carried()
    it.take(1)
    it.know(0)
    it.carriers[0].refuses.add("b")
    it.put(0, TEN)
    it.net.run(10)
    assert it.ready()[0] == 10 and 10 <= it.sent(0) - 1 <= 60
    it.take(2)
    it.net.until(lambda: sorted(it.had(2)) == TEN)
    it.carriers[0].refuses.clear()
    it.take(1)
    it.put(0, [11])
    it.net.until(lambda: 11 in it.had(1) + it.had(2))


# --- what waits ---------------------------------------------------------------------------------------------


def test_C13_what_a_consumer_had_who_goes_moves_to_the_others_in_turn() -> None:
    it = Several(3, distribution="round_robin", redistribution=0.0)
    _, one, _ = it.take(0, 1, 2)
    it.know(0)
    it.put(0, range(1, 21))
    it.net.until(lambda: sum(len(it.had(i)) for i in range(3)) == 21)
    mine, before = [n for n in it.had(1) if n], [it.had(0), it.had(2)]
    one.leave("jobs", begun=0)
    it.net.until(lambda: len(it.had(0)) + len(it.had(2)) + (0 in it.had(1)) == 21)
    later = [now[len(old) :] for now, old in zip([it.had(0), it.had(2)], before, strict=True)]
    later = [[n for n in some if n] for some in later]
    assert sorted(later[0] + later[1]) == mine
    assert sorted(later) == sorted([mine[::2], mine[1::2]])


def test_C14_what_a_consumer_had_who_goes_moves_to_the_other() -> None:
    it = Several(3, redistribution=0.0)
    one, _ = it.take(1, 2)
    it.know(0)
    it.put(0, range(1, 21))
    it.net.until(lambda: len(it.had(1)) + len(it.had(2)) == 21)
    mine = it.had(1)
    one.leave("jobs", begun=0)
    it.net.until(lambda: len(it.had(2)) == 21)
    assert it.had(2)[-len(mine) :] == mine and it.sent(0) == 21


def test_C15_strict_moves_nothing_when_a_consumer_goes() -> None:
    it = Several(3, distribution="strict", redistribution=0.0)
    _, one, _ = it.take(0, 1, 2)
    it.put(0, range(1, 22))
    it.net.until(lambda: sum(len(it.had(i)) for i in range(3)) == 21)
    mine = it.had(1)
    one.leave("jobs", begun=0)
    it.net.run(3)
    (again,) = it.take(1)
    it.net.until(lambda: len(again.contents()) == 7)
    assert [int(n) for n in again.contents()] == mine and it.sent(1) == 0


def test_C16_where_nobody_else_takes_it_stays() -> None:
    it = Several(3, redistribution=0.0)
    (one,) = it.take(1)
    it.put(0, range(1, 21))
    it.net.until(lambda: len(it.had(1)) == 20)
    one.leave("jobs", begun=0)
    it.net.run(3)
    (again,) = it.take(1)
    it.net.until(lambda: len(again.contents()) == 20)
    assert it.sent(1) == 0 and it.sent(0) == 20


def test_C18_off_with_redistribution_moves_when_nobody_here_takes_any_more() -> None:
    it = Several(2, distribution="independent", redistribution=0.0)
    here, _ = it.take(0, 1)
    it.put(0, [1, 2])
    it.net.run(2)
    assert it.had(1) == [] and it.had(0) == [1, 2]
    here.leave("jobs", begun=0)
    it.net.until(lambda: it.had(1) == [1, 2])


def test_C19_what_is_put_where_nobody_takes_moves_to_who_does() -> None:
    it = Several(2, distribution="independent", redistribution=0.0)
    it.take(0)
    it.put(1, TEN)
    it.net.until(lambda: it.had(0) == TEN)


def test_who_looks_on_at_both_ends_hears_what_moves_and_why() -> None:
    it = Several(2, distribution="independent", redistribution=0.0)
    ears = [Ear(), Ear()]
    for i, ear in enumerate(ears):
        it.queue(i).part.watch = ear
    it.take(0)
    it.put(1, [1])
    it.net.until(lambda: it.had(0) == [1] and it.queue(1).part.messages == 0)
    there, here = [ear.take() for ear in ears]
    assert here == ["adds", "keeps", "redistributes", "goes", "went"]
    assert there == ["comes", "adds", "keeps", "gives"]


def test_C22_it_waits_as_long_as_the_queue_says() -> None:
    it = Several(2, redistribution=0.2)
    (here,) = it.take(0)
    it.put(0, range(1, 21))
    it.net.until(lambda: len(it.had(0)) == 20)
    start = it.net.now
    here.leave("jobs", begun=0)
    other = Worker(it.nodes[1], "other")
    other.take("jobs", credit=100)
    it.net.until(lambda: len(other.contents()) > 0)
    assert 0.2 <= it.net.now - start < 0.5
    it.net.until(lambda: len(other.contents()) == 20)
    assert [int(n) for n in other.contents()] == list(range(1, 21))


def test_C23_who_takes_again_in_time_keeps_it() -> None:
    it = Several(2, redistribution=0.4)
    (here,) = it.take(0)
    it.put(0, range(1, 21))
    it.net.until(lambda: len(it.had(0)) == 20)
    here.leave("jobs", begun=0)
    it.take(1)
    again = Worker(it.nodes[0], "again")
    again.take("jobs", credit=100)
    it.net.until(lambda: len(again.contents()) == 20)
    it.net.run(3)
    assert it.had(1) == [] and it.sent(0) == 0


def test_C24_when_somebody_takes_again_nothing_more_moves() -> None:
    it = Several(2, redistribution=0.0)
    (here,) = it.take(0)
    it.put(0, range(1, 21))
    it.net.until(lambda: len(it.had(0)) == 20)
    here.leave("jobs", begun=0)
    again = Worker(it.nodes[0], "again")
    again.take("jobs", credit=100)
    it.take(1)
    it.net.run(3)
    assert len(again.contents()) == 20 and it.had(1) == [] and it.sent(0) == 0


def test_C26_a_node_that_comes_later_has_what_waits() -> None:
    it = Carried(2)
    it.nodes[1].kill()
    it.put(0, range(1, 21))
    it.nodes[1].restart()
    it.carriers[1] = Carrier(it.nodes[1], it.nodes)
    it.net.run(1)
    it.take(1)
    it.net.until(lambda: it.had(1) == list(range(1, 21)), limit=60)
    assert it.ready() == [0, 0]


def test_C26_a_node_that_is_the_first_other_one_has_what_waits() -> None:
    net = SimNetwork()
    a = net.node("a")
    boss = Worker(a, "boss")
    boss.declare("jobs")
    for n in TEN:
        boss.put("jobs", b"%d" % n)
    net.until(lambda: boss.state_of("jobs", 10) == "OK")
    net.run(30)
    b = net.node("b", "a")
    net.until(lambda: len(b.alive) == 1)
    taker = Worker(b, "taker")
    taker.declare("jobs")
    taker.take("jobs", credit=100)
    net.until(lambda: [int(each) for each in taker.contents()] == TEN)


def test_no_redistribution_is_none() -> None:
    it = Several(2, redistribution=None)
    it.put(0, TEN)
    it.net.run(0.5)
    it.take(1)
    it.net.run(30)
    assert it.had(1) == [] and it.ready() == [10, 0]
    it.put(0, [11])  # which is dealt out all the same
    it.net.until(lambda: it.had(1) == [11])


def test_B18_what_waits_with_producers_goes_where_it_is_taken() -> None:
    """Figure 1 of the seed: A has two who take and one who puts, B three who take, C three who put."""
    for is_on in (False, True):
        terms: dict[str, Any] = {} if is_on else {"distribution": "independent", "redistribution": None}
        it = Several(3, **terms)
        it.take(0, 0, 1, 1, 1, credit=20)
        workers = it.takers[0] + it.takers[1]
        for round_ in range(5):
            it.put(0, range(1000 + round_ * 10, 1010 + round_ * 10))
            for _ in range(3):
                it.put(2, range(it.bosses[2].puts.get("jobs", 0), it.bosses[2].puts.get("jobs", 0) + 10))
            for worker in workers:
                if worker.given[1]:
                    worker.settle(1, worker.given[1])
            it.net.run(0.1)
        for _ in range(20):
            for worker in workers:
                if worker.given[1]:
                    worker.settle(1, worker.given[1])
            it.net.run(0.1)
        had = it.had(0) + it.had(1)
        if is_on:
            assert it.ready() == [0, 0, 0] and it.had(1)
            assert sorted(had) == sorted([*range(150), *range(1000, 1050)])
        else:
            assert it.ready() == [0, 0, 150] and it.had(1) == []
            assert sorted(had) == list(range(1000, 1050))


def test_B1_all_that_was_put_at_two_nodes_is_taken_at_one() -> None:
    it = Several()
    it.take(2, credit=1000)
    it.put(0, range(150))
    it.put(2, range(150, 300))
    it.net.until(lambda: len(it.had(2)) == 300)
    assert sorted(it.had(2)) == list(range(300))
    it.net.run(2)
    assert len(it.had(2)) == 300 and it.ready() == [0, 0, 0]


def test_B3_with_one_consumer_the_order_of_who_puts_is_kept() -> None:
    it = Several()
    (one,) = it.take(1)
    it.put(0, range(100))
    it.net.until(lambda: it.had(1) == list(range(100)))
    one.leave("jobs", begun=0)
    (again,) = it.take(1)
    it.net.until(lambda: len(again.contents()) == 100)
    assert [int(n) for n in again.contents()] == list(range(100)) and it.sent(1) == 0


def test_who_has_nothing_to_do_gets_a_share_of_what_waits_elsewhere() -> None:
    it = Several(2)
    it.take(0, credit=2)
    it.put(0, range(42))
    it.net.run(1)
    assert it.ready() == [40, 0]
    it.take(1, credit=10)
    it.net.until(lambda: len(it.had(1)) == 10)
    it.net.run(5)
    assert len(it.had(1)) == 10 and it.ready() == [30, 0]


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["local", "round_robin"])
def test_with_one_who_is_ten_times_as_slow_all_is_done_nearly_as_soon_as_it_could_be(
    distribution: str,
) -> None:
    it, n = Several(distribution=distribution), 600
    takers, every = [it.take(i, credit=2)[0] for i in range(3)], (10, 1, 1)  # turns that a job takes
    it.know(0)
    it.net.run(1)
    for first in range(0, n, 100):
        it.bosses[0].put("jobs", *(b"%d" % k for k in range(first, first + 100)))
    done, needs, turns = [0, 0, 0], list(every), 0
    while sum(done) < n + 1 and turns < n:
        it.net.run(0.01)
        turns += 1
        for i, taker in enumerate(takers):
            needs[i] -= len(taker.got[1]) > done[i]
            if not needs[i]:
                done[i], needs[i] = done[i] + 1, every[i]
                taker.settle(done[i], done[i], wait=False)
    assert turns < 1.3 * n / sum(1 / each for each in every)


def test_what_is_of_one_group_goes_to_one_node() -> None:
    it = Several()
    it.take(1, 2)
    it.put(0, range(30), put=(5, 0, "joe"))
    it.net.until(lambda: len(it.had(1)) + len(it.had(2)) == 30)
    assert sorted([it.had(1), it.had(2)]) == [[], list(range(30))]


def test_C8_another_selector_is_known_elsewhere() -> None:
    it = Several(2)
    (one,) = it.take(1, selector="color == 'red'")
    it.put(0, [1], color="blue")
    it.net.run(2)
    one.leave("jobs")
    one.take("jobs", selector="color == 'blue'")
    it.net.until(lambda: one.contents() == [b"1"])


# --- what it costs ------------------------------------------------------------------------------------------


def test_an_idle_queue_is_neither_told_nor_watched() -> None:
    it = Several(2)
    (one,) = it.take(1)
    it.put(0, [1])
    it.net.until(lambda: it.had(1) == [1])
    one.settle(1, 1)
    one.leave("jobs")
    it.net.run(100)
    for node in it.nodes:
        parts = node.core.parts
        presence = parts.services.presence
        assert not presence.own and not presence._watching.names
        assert not parts.queues.balancing._spreads and not parts.queues.stocks._told


def test_a_removed_queue_leaves_nothing() -> None:
    it = Several(2)
    it.take(1, selector="a == 'b'")
    it.put(0, TEN)
    it.net.run(1)
    for boss in it.bosses:
        boss.ok(boss.ask("queue_remove", name="jobs", if_unused=False))
    it.net.run(1)
    for node in it.nodes:
        parts = node.core.parts
        assert not parts.services.presence.own
        assert not parts.queues.balancing._spreads and not parts.queues.stocks._told


def test_where_just_enough_comes_not_each_message_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    it = Several(2)
    (one,) = it.take(1, credit=1)
    it.know(0)
    one.settle(1, 1)
    presence = it.nodes[1].core.parts.services.presence
    told, serve = list[object](), presence.serve

    def heard(*row: Any) -> None:
        told.append(row)
        serve(*row)

    monkeypatch.setattr(presence, "serve", heard)
    start = it.net.now
    for n in range(1, 60):
        it.put(1, [n])
        it.net.until(lambda: len(it.had(1)) > n)  # noqa: B023
        one.settle(n + 1, n + 1)
    assert len(told) <= 2 * (it.net.now - start) / 0.05 + 2


def test_a_node_that_lies_about_its_wishes_moves_no_more_than_there_is() -> None:
    it = Several(2)
    it.put(0, TEN)
    presence = it.nodes[1].core.parts.services.presence
    for note in (
        b"\xff",
        b"\x97\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x00\xcb\x00\x00\x00\x00\x00\x00\x00\x00\x90\xc3\xc2\xc2",
        b"",
    ):
        presence.serve(("queue", "jobs"), 1, note)
        it.nodes[1]._carry_out_all()
        it.net.run(3)
    assert sum(it.queue(i).part.messages for i in range(2)) == 10


# --- much of it ---------------------------------------------------------------------------------------------


def test_much_that_is_put_goes_as_fast_as_there_is_room_and_in_its_order() -> None:
    it = Several(2)
    it.take(1, credit=1000)
    it.know(0)
    (one,) = it.takers[1]
    for first in range(1, 6_001, 100):
        it.bosses[0].put("jobs", *(b"%d" % n for n in range(first, first + 100)))
    while len(it.had(1)) <= 6_000:
        given = one.given[1]
        it.net.until(lambda: one.given[1] > given)  # noqa: B023
        one.settle(1, one.given[1], wait=False)
    assert it.had(1) == list(range(6_001)) and it.sent(0) == 6_001


def test_a_node_that_is_killed_on_the_way_loses_and_doubles_nothing() -> None:
    it = Several(3, redistribution=0.0)
    it.put(0, range(300))
    it.take(1, credit=100)
    it.net.until(lambda: it.had(1))
    it.nodes[1].kill()
    it.net.run(1)
    it.nodes[1].restart()
    it.take(2, credit=1000)
    it.net.until(lambda: len(it.had(2)) >= 300, limit=120)
    it.net.run(40)
    assert sorted(it.had(2)) == list(range(300)) and it.ready() == [0, 0, 0]


@pytest.mark.slow
def test_what_is_longer_than_memory_goes_part_by_part() -> None:
    it = Several(2, {"memory_bytes": 100_000}, redistribution=None)
    (one,) = it.take(1, credit=1000)
    it.know(0)
    most, part = 0, it.queue(0).part
    for n in range(1, 3_001):
        it.bosses[0].put("jobs", b"%d" % n)
    while len(it.had(1)) <= 3_000:
        it.net.run(0.02)
        most = max(most, sum(map(len, part.lines.values())))
        if one.given[1]:
            one.settle(1, one.given[1], wait=False)
    assert sorted(it.had(1)) == list(range(3_001)) and it.sent(0) == 3_001 and most <= 2_100


def test_strict_deals_out_what_is_on_the_disk_too() -> None:
    it = Several(2, {"memory_bytes": 50_000}, distribution="strict")
    for n in range(400):
        it.bosses[0].put("jobs", b"%d" % n)
    it.net.until(lambda: it.ready() == [200, 200], limit=30)


def test_what_waits_on_the_disk_of_a_node_where_nobody_takes_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial, "AHEAD", 100)
    monkeypatch.setattr(ondisk, "LOTS", 100)
    it = Several(2, {"memory_bytes": 50_000})
    for n in range(600):
        it.bosses[0].put("jobs", b"%d" % n)
    it.net.until(lambda: it.queue(0).part.ready == 600)
    assert it.queue(0).part.on_disk
    (one,) = it.take(1, credit=1000)
    most = 0
    while len(it.had(1)) < 600:
        it.net.run(0.02)
        most = max(most, sum(map(len, it.queue(0).part.lines.values())))
        if one.given[1]:
            one.settle(1, one.given[1], wait=False)
    assert sorted(it.had(1)) == list(range(600)) and most <= 250


def test_who_has_a_long_job_in_memory_has_others_meanwhile() -> None:
    it = Several(2, {"volatile": frozenset([""])}, distribution="independent", redistribution=0.0)
    (one,) = it.take(1, credit=2)
    it.put(0, range(6))
    for n in range(1, 6):
        it.net.until(lambda: len(it.had(1)) > n)  # noqa: B023
        one.settle(n + 1, n + 1)  # and never the first
    assert it.had(1) == list(range(6))
    it.net.run(3)
    assert it.ready() == [0, 0] and it.sent(0) == 6


def test_where_it_is_in_memory_little_more_goes_than_is_wanted() -> None:
    it = Several(2, {"volatile": frozenset([""])}, distribution="independent", redistribution=0.0)
    it.take(1, credit=10)
    it.put(0, range(100))
    it.net.run(5)
    assert 10 <= it.queue(1).part.messages <= 20


# --- other nodes as they are --------------------------------------------------------------------------------


def test_a_node_that_knows_of_no_moves_is_sent_nothing() -> None:
    it = Several(3)
    peer = it.nodes[0].core.parts.neighbours.peers[it.nodes[1].uuid]
    it.take(1)
    it.net.until(lambda: peer.data is None or peer.data.is_open)
    it.put(0, [0])
    it.net.until(lambda: it.had(1) == [0])
    assert peer.data is not None
    peer.data.speaks = peer.data.speaks - {TRANSFERS}
    it.put(0, TEN)
    it.net.run(3)
    assert it.had(1) == [0] and it.ready() == [10, 0, 0]
    it.take(2)
    it.net.until(lambda: it.had(2) == TEN)


def test_what_waits_for_room_to_a_node_that_is_lost_goes_elsewhere() -> None:
    it = Carried()
    it.take(1)
    it.know(0)
    it.carriers[0].room = 0
    it.put(0, TEN)
    it.nodes[1].kill()
    it.take(2)
    it.carriers[0].room = 1_000
    it.net.until(lambda: it.had(2) == TEN, limit=60)
    it.nodes[1].restart()
    it.carriers[1] = Carrier(it.nodes[1], it.nodes)
    it.takers[2][0].leave("jobs")
    (again,) = it.take(1)
    it.put(0, [11])
    it.net.until(lambda: b"11" in again.contents())


def test_strict_deals_out_again_to_a_node_that_was_lost_with_no_room_on_the_way() -> None:
    it = Carried(2, distribution="strict")
    it.know(0)
    it.carriers[0].room = 0
    it.put(0, TEN)
    it.nodes[1].kill()
    it.net.run(30)
    it.nodes[1].restart()
    it.carriers[1], it.carriers[0].room = Carrier(it.nodes[1], it.nodes), 1_000
    it.put(0, [0])
    it.net.run(30)
    before = it.sent(0)
    it.put(0, TEN)
    it.net.until(lambda: it.sent(0) == before + 5)


def test_a_way_without_room_is_not_asked_with_each_put() -> None:
    it = Carried(2)
    it.take(1)
    it.know(0)
    it.carriers[0].room = 0
    before = it.carriers[0].begins
    for n in range(20):
        it.put(0, [n])
    assert it.carriers[0].begins == before + 1


def test_who_takes_for_a_moment_begins_the_time_of_what_waits_anew() -> None:
    it = Several(2, distribution="independent", redistribution=1.0)
    it.take(1)
    it.put(0, TEN)
    it.net.run(0.5)
    (one,) = it.take(0, credit=1)
    one.leave("jobs", begun=0)
    gone = it.net.now
    it.net.until(lambda: it.had(1))
    assert it.net.now - gone >= 1.0


def test_C12_a_node_that_was_stopped_and_started_has_what_it_selects() -> None:
    it = Several(2)
    for n in range(2):
        (one,) = it.take(1, selector="animal == 'bison'")
        it.put(0, range(10 * n, 10 * n + 10), animal="bison")
        it.put(0, range(100, 110), animal="gnu")
        it.net.until(lambda: len(one.contents()) == 10)  # noqa: B023
        assert [int(each) for each in one.contents()] == list(range(10 * n, 10 * n + 10))
        one.settle(1, 10)
        it.net.run(2)
        assert len(one.contents()) == 10 and it.ready() == [10 * n + 10, 0]
        it.nodes[1].kill()
        it.net.run(2)
        it.nodes[1].restart()


def test_that_nothing_is_wanted_is_told_at_once() -> None:
    it = Several(2)
    (one,) = it.take(1, credit=1)
    it.know(0)
    it.net.run(1)
    here, there = (it.nodes[i].core.parts.queues.stocks for i in (0, 1))

    def wants() -> int:
        return here.others("jobs")[it.nodes[1].uuid].wants

    assert wants() == 0
    one.settle(1, 1)
    it.net.until(wants)
    told = there._told[it.queue(1)][1]
    it.put(1, [1])
    it.net.until(lambda: not wants())
    assert it.net.now - told < REST


def test_what_is_of_a_group_and_waits_moves_to_one_node() -> None:
    it = Several(distribution="independent", redistribution=0.0)
    for n in range(30):
        it.put(0, [n], put=(5, 0, f"g{n % 3}"))
    it.take(1, 2)
    it.net.until(lambda: len(it.had(1)) + len(it.had(2)) == 30)
    for group in range(3):
        homes = {i for i in (1, 2) for n in it.had(i) if n % 3 == group}
        assert len(homes) == 1
        (home,) = homes
        assert [n for n in it.had(home) if n % 3 == group] == list(range(group, 30, 3))


def joes(it: Several, n: int, beside: Sequence[int] = ()) -> None:
    """Node a puts n messages of joe, of which some wait as nobody takes; then each behind the one before."""
    it.put(0, range(n // 2), put=(5, 0, "joe"))
    it.take(1, credit=3)
    (one,) = it.takers[1]
    for i in range(n // 2, n):
        it.put(0, [i], put=(5, 0, "joe"))
        it.put(0, beside)
        if one.given[1]:
            one.settle(1, one.given[1], wait=False)
    while len(it.had(1)) < n + (n - n // 2) * len(beside):
        given = one.given[1]
        it.net.until(lambda: one.given[1] > given)  # noqa: B023
        one.settle(1, one.given[1], wait=False)


@pytest.mark.parametrize("terms", [{}, {"distribution": "round_robin"}, {"nodes": ["b"]}])
def test_what_is_put_of_a_group_waits_behind_what_waits_of_it(terms: dict[str, Any]) -> None:
    it = Several(2, **terms)
    joes(it, 40, beside=[1000])
    had = it.had(1)
    assert [n for n in had if n < 1000] == list(range(40))
    assert had.index(1000) < had.index(19) or "nodes" in terms  # what is of no group goes past


def test_where_what_waits_never_moves_nothing_waits_behind_it() -> None:
    it = Several(2, redistribution=None)
    it.put(0, [0], put=(5, 0, "joe"))
    it.net.run(0.5)
    it.take(1)
    it.put(0, [1], put=(5, 0, "joe"))
    it.net.until(lambda: it.had(1) == [1])


def test_a_group_that_has_more_than_the_way_has_room_for_goes_in_its_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some waits for room, more than may wait stays, and what is put then is behind both."""
    monkeypatch.setattr(balancing, "WAITING", 20)
    monkeypatch.setattr(leaving, "TRANSFERS_OPEN", 100)
    it = Several(2)
    it.take(1, credit=1000)
    it.know(0)
    for n in range(1, 201):
        it.bosses[0].put("jobs", b"%d" % n, put=(5, 0, "joe"))
        if not n % 20:
            it.net.run(0.01)
    (one,) = it.takers[1]
    while len(it.had(1)) <= 200:
        given = one.given[1]
        it.net.until(lambda: one.given[1] > given)  # noqa: B023
        one.settle(1, one.given[1], wait=False)
    assert it.had(1) == list(range(201))


def test_what_waits_moves_only_where_it_may_stay_though_others_take_too() -> None:
    """Of eight groups some would be at home with those others."""
    it = Several(nodes=["a", "b"], redistribution=0.0)
    for n in range(8):
        it.put(0, [n], put=(5, 0, f"g{n}"))
    it.take(2)
    it.net.run(3)
    assert it.queue(0).part.ready == 8 and it.sent(0) == 0
    ((_, why),) = it.nodes[0].core.parts.queues.balancing.reasons(it.queue(0))
    assert why == "nobody takes here; who takes at c is not where its messages stay"
    it.take(1)
    it.net.until(lambda: len(it.had(1)) == 8)
    assert it.had(2) == []
