"""Every node is chosen equally often, whichever other nodes are candidates."""

import random
from collections import Counter

import pytest

from mesh.balancers import weighted_turns
from mesh.balancers.round_robin import RoundRobin
from tests.balancers.candidates import chance, named, picks

ABC = named("a b c")


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64])
def test_ten_messages_for_each_node_are_ten_at_each(n: int) -> None:
    among = named(" ".join(f"n{place}" for place in range(n)))
    assert set(picks(RoundRobin(chance()), among, 10 * n).values()) == {10}


def test_nobody_has_a_second_turn_before_all_had_one() -> None:
    balancer = RoundRobin(chance())
    turns = [balancer.pick(ABC) for _ in range(900)]
    assert all(set(turns[place : place + 3]) == set("abc") for place in range(len(turns) - 3))


def test_the_order_in_which_candidates_are_given_is_no_matter() -> None:
    balancer, shuffle = RoundRobin(chance()), random.Random(0).shuffle
    found: Counter[str] = Counter()
    for _ in range(300):
        shuffle(among := list(ABC))
        found[balancer.pick(among)] += 1
    assert found == {"a": 100, "b": 100, "c": 100}


def test_two_groups_of_nodes_do_not_take_each_other_s_turns() -> None:
    balancer = RoundRobin(chance())
    found: Counter[str] = Counter()
    for _ in range(50):
        found[f"of two: {balancer.pick(named('a b'))}"] += 1
        found[f"of three: {balancer.pick(named('b c d'))}"] += 1
    assert found["of two: a"] == found["of two: b"] == 25
    assert {found[f"of three: {node}"] for node in "bcd"} <= {16, 17}


def test_who_goes_and_comes_back_gets_no_more_than_its_part() -> None:
    balancer = RoundRobin(chance())
    picks(balancer, ABC, 10)
    without = picks(balancer, named("a b"), 100)
    again = picks(balancer, ABC, 99)
    assert without == {"a": 50, "b": 50}
    assert set(again.values()) == {33}


def test_a_set_that_is_another_at_every_message_is_shared_out_all_the_same() -> None:
    balancer, among = RoundRobin(chance()), named(" ".join(f"n{place}" for place in range(30)))
    present = random.Random(1).sample
    found = Counter(balancer.pick([among[n] for n in sorted(present(range(30), 22))]) for _ in range(3000))
    assert all(count == pytest.approx(100, rel=0.2) for count in found.values()) and len(found) == 30


def test_an_order_begins_with_another_each_time() -> None:
    balancer = RoundRobin(chance())
    orders = [balancer.order(ABC) for _ in range(30)]
    assert Counter(order[0] for order in orders) == {"a": 10, "b": 10, "c": 10}
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)


def test_whoever_was_asked_first_now_is_asked_last_the_next_time() -> None:
    balancer = RoundRobin(chance())
    first, second = balancer.order(ABC), balancer.order(ABC)
    assert second == [*first[1:], first[0]]


def test_many_senders_do_not_all_begin_with_the_same_node() -> None:
    firsts = Counter(RoundRobin(chance(seed)).pick(ABC) for seed in range(300))
    assert all(count > 60 for count in firsts.values()) and len(firsts) == 3


def test_an_envelope_is_dealt_out_like_single_messages() -> None:
    balancer = RoundRobin(chance())
    counts: Counter[str] = Counter()
    for n in (1, 5, 10, 2, 500, 82):
        counts.update(balancer.assign(ABC, n))
    assert counts == {"a": 200, "b": 200, "c": 200}


def test_groups_and_nodes_long_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighted_turns, "GROUPS", 4)
    monkeypatch.setattr(weighted_turns, "TURNS", 4)
    balancer = RoundRobin(chance())
    for number in range(50):
        balancer.pick(named(f"a n{number}"))
    assert (len(balancer._groups), len(balancer._turns)) == (4, 4)
