"""Weights and numbers of consumers become exact shares."""

from collections import Counter
from dataclasses import replace

import pytest

from mesh.balancers.base import Candidate
from mesh.balancers.round_robin import RoundRobin
from mesh.balancers.weighted_round_robin import WeightedRoundRobin
from tests.balancers.candidates import Sample, chance, named, picks


def serving(**consumers: int) -> list[Candidate]:
    """Return equal nodes with these numbers of consumers."""
    return [replace(node, consumers=consumers[node.node]) for node in named(" ".join(consumers))]


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
    balancer, total, message = WeightedRoundRobin(chance()), sum(registered.values()), Sample(key="address")
    found = Counter(balancer.pick(serving(**registered), message) for _ in range(100 * total))
    assert found == {node: 100 * count for node, count in registered.items()}


def test_two_addresses_are_each_shared_out_by_their_own_consumers() -> None:
    balancer = WeightedRoundRobin(chance())
    served = {"x": serving(a=3, b=1), "y": serving(a=1, b=3)}
    found: Counter[str] = Counter()
    for key in "xy" * 200:
        found[key + balancer.pick(served[key], Sample(key=key))] += 1
    assert found == {"xa": 150, "xb": 50, "ya": 50, "yb": 150}


def test_two_addresses_that_are_used_by_turns_do_not_each_find_the_same_node() -> None:
    for balancer in (RoundRobin(chance()), WeightedRoundRobin(chance())):
        found = Counter(key + balancer.pick(serving(a=1, b=1), Sample(key=key)) for key in "xy" * 100)
        assert found == {"xa": 50, "xb": 50, "ya": 50, "yb": 50}


def weighing(**weights: float) -> list[Candidate]:
    return [replace(candidate, weight=weights[candidate.node]) for candidate in named(" ".join(weights))]


def test_consumers_that_go_take_their_part_with_them() -> None:
    balancer, message = WeightedRoundRobin(chance()), Sample(key="address")
    assert balancer.assign(serving(a=1, b=2), 300, message) == {"a": 100, "b": 200}
    assert balancer.assign(serving(a=0, b=2), 300, message) == {"b": 300}
    assert balancer.assign(weighing(a=1, b=4), 300, message) == {"a": 60, "b": 240}


def test_each_consumer_counts_as_much_as_its_node_weighs() -> None:
    among = [replace(node, consumers=n) for node, n in zip(weighing(a=3, b=1, c=1), (1, 3, 0), strict=True)]
    balancer = WeightedRoundRobin(chance())
    assert balancer.assign(among, 600, Sample(key="address")) == {"a": 300, "b": 300}


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
    for _ in range(50):
        balancer.pick(serving(a=1, b=100), message)
        assert balancer.pick(serving(a=1, b=0), message) == "a"
    assert balancer.order(serving(a=1, b=0), message) == ["a", "b"]


def test_consumers_less_than_none_are_none() -> None:
    balancer = WeightedRoundRobin(chance())
    assert balancer.assign(serving(a=1, b=-5), 10) == {"a": 10}
    assert balancer.assign(serving(a=-1, b=-5), 10) == {"a": 5, "b": 5}


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
