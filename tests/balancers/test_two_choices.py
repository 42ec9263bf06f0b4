"""The faster of two candidates wins, and no node gets all messages."""

from collections import Counter
from dataclasses import replace

import pytest

from mesh.balancers.two_choices import TwoChoices
from tests.balancers.candidates import chance, fresh, picks
from tests.balancers.fleet import Fleet


def test_a_node_that_answers_sooner_gets_more() -> None:
    counts = picks(TwoChoices(chance()), [fresh("near", latency=0.001), fresh("far", latency=0.003)], 4000)
    assert counts["near"] == pytest.approx(3000, rel=0.05)


def test_a_node_that_answers_at_once_counts_as_four_times_as_quick_at_most() -> None:
    among = [fresh("empty", latency=1e-9), *(fresh(f"n{n}", latency=0.01) for n in range(5))]
    counts = TwoChoices(chance()).assign(among, 9000)
    assert counts["empty"] / 9000 <= 4 / 9


def test_an_unmeasured_way_counts_as_a_typical_one() -> None:
    among = [fresh("a", latency=0.01), fresh("b", latency=0.01), fresh("new", latency=0.0)]
    assert TwoChoices(chance()).assign(among, 3000)["new"] == pytest.approx(1000, rel=0.06)


def test_when_no_way_was_measured_all_are_equal() -> None:
    among = [fresh(node, latency=0.0) for node in "abc"]
    counts = TwoChoices(chance()).assign(among, 3000)
    assert all(count == pytest.approx(1000, rel=0.06) for count in counts.values())


def test_the_best_of_many_is_taken_no_more_often_than_it_is_drawn() -> None:
    among = [replace(fresh(f"n{n}", 0.5), sent=100) for n in range(19)] + [fresh("newcomer", 0.0)]
    firsts = Counter(TwoChoices(chance(seed)).pick(among) for seed in range(1000))
    assert firsts["newcomer"] == pytest.approx(100, abs=35)


def test_the_worse_of_the_whole_group_is_never_taken_when_it_is_clearly_worse() -> None:
    among = [fresh("a"), fresh("b"), replace(fresh("worst"), sent=1000)]
    assert "worst" not in {TwoChoices(chance(seed)).pick(among) for seed in range(200)}


def test_a_newcomer_is_not_overrun_by_many_senders() -> None:
    fleet = Fleet(TwoChoices, dict.fromkeys("abcdefghi", 0.3), senders=4)
    fleet.run(1)
    fleet.join("new", 0.3)
    assert all(tenth["new"] / tenth.total() < 0.3 for tenth in fleet.run(1))
