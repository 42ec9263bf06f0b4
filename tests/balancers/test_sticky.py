"""Messages of one key stay at one node, and few keys move when nodes change."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.balancers.sticky import Sticky
from tests.balancers.candidates import Headers, Sample, chance, named

VALUES = [f"customer {number}" for number in range(600)]


def of(value: str, header: str = "sticky") -> Sample:
    return Sample(headers=Headers({header: value}))


def homes(names: str) -> dict[str, str]:
    """Return the node of each value."""
    return {value: Sticky(chance(len(value))).pick(named(names), of(value)) for value in VALUES}


@given(value=st.text(), seeds=st.tuples(st.integers(), st.integers()), nodes=st.permutations("abcdef"))
def test_every_sender_reckons_the_same_node(value: str, seeds: tuple[int, int], nodes: list[str]) -> None:
    one, other = (Sticky(chance(seed)) for seed in seeds)
    assert one.pick(named("a b c d e f"), of(value)) == other.pick(named(" ".join(nodes)), of(value))


def test_only_what_was_at_a_node_that_goes_moves_and_to_all_others_alike() -> None:
    before, after = homes("a b c d e"), homes("a b c d")
    moved = Counter(after[value] for value in VALUES if before[value] != after[value])
    assert {before[value] for value in VALUES if before[value] != after[value]} == {"e"}
    assert moved.total() == pytest.approx(120, abs=30) and min(moved[node] for node in "abcd") > 12


def test_who_comes_takes_its_part_and_moves_nothing_else() -> None:
    before, after = homes("a b c d"), homes("a b c d new")
    assert all(after[value] in (before[value], "new") for value in VALUES)
    assert Counter(after.values())["new"] == pytest.approx(120, abs=30)


def test_all_of_one_piece_go_to_one_node_and_the_next_is_where_they_would_go_without_it() -> None:
    balancer, among = Sticky(chance()), named("a b c")
    first, second, _ = balancer.order(among, of("x"))
    assert balancer.assign(among, 9, of("x")) == {first: 9}
    assert balancer.pick([node for node in among if node.node != first], of("x")) == second


def test_without_the_header_it_is_in_turn() -> None:
    balancer, among = Sticky(chance(), header="customer"), named("a b c")
    for message in (None, Sample(), of("x", "sticky")):
        assert balancer.assign(among, 9, message) == {"a": 3, "b": 3, "c": 3}
    assert len(balancer.assign(among, 9, of("x", "customer"))) == 1


def test_a_header_that_says_nothing_is_one_all_the_same() -> None:
    assert len(Sticky(chance()).assign(named("a b c"), 9, of(""))) == 1
