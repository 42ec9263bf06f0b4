"""Messages without a consumer at their node, which move to a node that has one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mesh.features.queues.model.part.test_queue_observer import Ear
from tests.mesh.features.queues.node.carrier import Carrier
from tests.mesh.features.queues.node.spread import TEN, Carried, Several
from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNetwork


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
        it.queue(i).part.backlog.watch = ear
    it.take(0)
    it.put(1, [1])
    it.net.until(lambda: it.had(0) == [1] and it.queue(1).part.backlog.messages == 0)
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
    it.put(0, [11])  # it is distributed all the same
    it.net.until(lambda: it.had(1) == [11])


@pytest.mark.slow
def test_B18_what_waits_with_producers_goes_where_it_is_taken() -> None:
    """Figure 1 of the seed: A has two consumers and a producer, B three consumers, C three producers."""
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


@pytest.mark.slow
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
    takers, every = [it.take(i, credit=2)[0] for i in range(3)], (10, 1, 1)  # turns for each job
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
