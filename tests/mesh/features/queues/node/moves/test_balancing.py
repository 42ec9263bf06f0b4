"""Queue messages go to nodes with consumers, at once or after a wait without a match."""

from __future__ import annotations

import pytest

from mesh.features.queues.node.moves import balancing
from mesh.features.queues.node.parts import QueueParts
from mesh.wire.limits import TRANSFERS
from tests.mesh.features.queues.node.carrier import Carrier
from tests.mesh.features.queues.node.spread import TEN, Carried, Several
from tests.mesh.features.queues.node.worker import Worker
from tests.seeds import scenarios

# --- new messages -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", scenarios([False, True]))
def test_B5_of_two_nodes_where_it_is_taken_one_has_the_even_ones_and_one_the_odd_ones(at_once: bool) -> None:
    it = Several()
    it.take(1, 2)
    it.put(0, range(1, 101), at_once)
    it.net.until(lambda: len(it.had(1)) + len(it.had(2)) == 100)
    assert sorted([it.had(1), it.had(2)]) == [list(range(1, 101, 2)), list(range(2, 101, 2))]
    it.net.until(lambda: it.sent(0) == 100)
    assert it.sent(1) == it.sent(2) == 0


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
    it.net.until(lambda: it.sent(0) == 5 and it.queue(1).part.backlog.messages == 5)
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
    assert not it.nodes[0].core.parts.presence.own


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
    spread = it.nodes[0].core.parts[QueueParts].balancing._spreads[it.queue(0)]
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


# --- other nodes --------------------------------------------------------------------------------------------


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


# --- turns that are kept ------------------------------------------------------------------------------------


class Doer:
    """A consumer at a node that gets one message at a time, and finishes it when it is asked to work."""

    def __init__(self, it: Several, place: int) -> None:
        (self.worker,) = it.take(place, credit=1)
        self.done = 0

    def work(self) -> None:
        while self.done < len(self.worker.got[1]):
            self.done += 1
            self.worker.settle(self.done, self.done, wait=False)


def turns(it: Several, n: int, busy: int) -> str:
    """Return which of two nodes, "a" or "b", had each of n messages that are put one by one.

    The consumer at the node `busy` finishes a message only every 0.1 s.
    """
    doers = [Doer(it, 0), Doer(it, 1)]
    for number in range(1, n + 1):
        it.put(0, [number])
        it.net.run(0.02)
        for place, doer in enumerate(doers):
            if place != busy or number % 5 == 0:
                doer.work()
    for _ in range(n):
        it.net.run(0.02)
        for doer in doers:
            doer.work()
    had = [set(it.had(0)), set(it.had(1))]
    assert not had[0] & had[1]
    return "".join("a" if number in had[0] else "b" for number in range(1, n + 1))


@pytest.mark.parametrize("busy", [0, 1])
def test_what_was_just_dealt_out_in_turn_is_not_moved_to_who_has_nothing_to_do(busy: int) -> None:
    it = Several(2, distribution="round_robin")
    order = turns(it, 16, busy)
    assert order in ("ab" * 8, "ba" * 8)
    assert it.sent(0) == 8 and it.sent(1) == 0, "nothing has moved twice"


@pytest.mark.slow
def test_a_thousand_puts_one_by_one_alternate_strictly() -> None:
    it = Several(2, distribution="round_robin")
    order = turns(it, 1_000, -1)
    assert order in ("ab" * 500, "ba" * 500)
    assert it.sent(0) == 500 and it.sent(1) == 0


def test_a_message_that_was_given_out_before_it_was_known_who_takes_was_the_turn_of_its_node() -> None:
    it = Several(2, distribution="round_robin")
    here, there = Worker(it.nodes[0], "here"), Worker(it.nodes[1], "there")
    there.take("jobs")
    it.net.cut("a", "b")
    here.take("jobs")  # node a asks for consumers elsewhere
    it.put(0, [1])
    it.net.until(lambda: here.contents() == [b"1"])
    it.net.heal()
    it.net.run(3)
    it.put(0, [2])
    it.put(0, [3])
    it.net.run(0.5)
    assert (here.contents(), there.contents()) == ([b"1", b"3"], [b"2"])
