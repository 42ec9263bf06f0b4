"""Do weights, and counts of consumers, become shares of just that size?"""

from collections import Counter
from dataclasses import replace

import pytest

from balancers.base import Candidate, Registration
from balancers.weighted_round_robin import WeightedRoundRobin
from tests.balancers.candidates import Sample, chance, named, picks


def shares(registered: dict[str, int], n: int, key: str = "address") -> Counter[str]:
    """Who gets how many of n messages, when consumers were registered one by one."""
    balancer = WeightedRoundRobin(chance())
    for node, count in registered.items():
        for _ in range(count):
            balancer.registrations([Registration("address", node)])
    among, message = named(" ".join(registered)), Sample(key=key)
    return Counter(balancer.pick(among, message) for _ in range(n))


@pytest.mark.parametrize(
    "registered",
    [
        {"a": 1, "b": 2},
        {"a": 1, "b": 1, "c": 2},
        {"a": 2, "b": 3},
        {"a": 5, "b": 10},
        {"a": 1, "b": 1},
        {"a": 3},
    ],
    ids=str,
)
def test_every_consumer_of_an_address_weighs_the_same_also_a_node_s_first(registered: dict[str, int]) -> None:
    total = sum(registered.values())
    assert shares(registered, 100 * total) == {node: 100 * count for node, count in registered.items()}


def test_consumers_of_one_address_are_nothing_to_messages_of_another() -> None:
    assert shares({"a": 1, "b": 9}, 100, key="elsewhere") == {"a": 50, "b": 50}


def test_two_addresses_are_each_shared_out_by_their_own_consumers() -> None:
    balancer = WeightedRoundRobin(chance())
    balancer.registrations([Registration("x", "a", 3), Registration("x", "b"), Registration("y", "a")])
    balancer.registrations([Registration("y", "b", 3)])
    found: Counter[str] = Counter()
    for key in "xy" * 200:
        found[key + balancer.pick(named("a b"), Sample(key=key))] += 1
    assert found == {"xa": 150, "xb": 50, "ya": 50, "yb": 150}


def weighing(**weights: float) -> list[Candidate]:
    return [replace(candidate, weight=weights[candidate.node]) for candidate in named(" ".join(weights))]


def test_consumers_that_go_take_their_part_with_them() -> None:
    balancer, message = WeightedRoundRobin(chance()), Sample(key="address")
    balancer.registrations([Registration("address", "a", 2), Registration("address", "b", 2)])
    balancer.registrations([Registration("address", "a", -1)])
    assert balancer.assign(named("a b"), 300, message) == {"a": 100, "b": 200}
    balancer.registrations([Registration("address", "a", -1)])
    assert balancer.assign(named("a b"), 300, message) == {"b": 300}
    balancer.registrations([Registration("address", "b", -2)])
    assert balancer.assign(weighing(a=1, b=4), 300, message) == {"a": 60, "b": 240}


def test_each_consumer_counts_as_much_as_its_node_weighs() -> None:
    balancer, message = WeightedRoundRobin(chance()), Sample(key="address")
    balancer.registrations([Registration("address", "a"), Registration("address", "b", 3)])
    assert balancer.assign(weighing(a=3, b=1, c=1), 600, message) == {"a": 300, "b": 300}


def test_without_consumers_the_weight_of_the_candidate_counts() -> None:
    assert picks(WeightedRoundRobin(chance()), weighing(a=1, b=0.5, c=2.5), 800) == {
        "a": 200,
        "b": 100,
        "c": 500,
    }


def test_turns_are_spread_evenly_and_do_not_come_in_a_row() -> None:
    balancer = WeightedRoundRobin(chance())
    turns = "".join(balancer.pick(weighing(a=4, b=1, c=1)) for _ in range(600))
    assert "aaaa" not in turns and turns.count("a") == 400
    gaps = [len(gap) for gap in turns.strip("a").split("b")[1:-1]]
    assert min(gaps) >= 4 and max(gaps) <= 6


def test_who_has_no_consumers_gets_nothing_also_when_it_just_had_many() -> None:
    balancer, message = WeightedRoundRobin(chance()), Sample(key="address")
    balancer.registrations([Registration("address", "a")])
    for _ in range(50):
        balancer.registrations([Registration("address", "b", 100)])
        balancer.pick(named("a b"), message)
        balancer.registrations([Registration("address", "b", -100)])
        assert balancer.pick(named("a b"), message) == "a"
    assert balancer.order(named("a b"), message) == ["a", "b"]


def test_when_no_candidate_has_a_consumer_all_are_equal() -> None:
    balancer = WeightedRoundRobin(chance())
    balancer.registrations([Registration("address", "elsewhere")])
    counts = Counter(balancer.pick(named("a b"), Sample(key="address")) for _ in range(100))
    assert counts == {"a": 50, "b": 50}


def test_a_change_of_weights_holds_at_once() -> None:
    balancer = WeightedRoundRobin(chance())
    picks(balancer, weighing(a=1, b=1000), 5000)
    assert picks(balancer, weighing(a=1, b=1), 100)["a"] == pytest.approx(50, abs=1)


def test_an_envelope_is_dealt_out_by_weight() -> None:
    balancer = WeightedRoundRobin(chance())
    counts: Counter[str] = Counter()
    for n in (1, 2, 3, 94, 500):
        counts.update(balancer.assign(weighing(a=1, b=2, c=3), n))
    assert counts == {"a": 100, "b": 200, "c": 300}


def test_over_many_messages_shares_are_the_weights_exactly_and_never_off_by_more_than_one() -> None:
    balancer, among = WeightedRoundRobin(chance()), weighing(a=0.25, b=1, c=2.5, d=0.75)
    counts: Counter[str] = Counter()
    for n in range(1, 1801):
        counts[balancer.pick(among)] += 1
        due = {candidate.node: n * candidate.weight / 4.5 for candidate in among}
        assert all(abs(counts[node] - share) <= 1 for node, share in due.items())
    assert counts == {"a": 100, "b": 400, "c": 1000, "d": 300}
