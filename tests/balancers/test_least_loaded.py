"""Work goes to idle nodes, without overloading one of them."""

from collections import Counter
from dataclasses import replace

import pytest

from mesh.balancers.base import Candidate, Jitter, NodeInfo
from mesh.balancers.least_loaded import LeastLoaded
from mesh.balancers.two_choices import TwoChoices
from tests.balancers.candidates import chance, fresh, named, picks
from tests.balancers.fleet import Fleet, shares

both = pytest.mark.parametrize("make", [LeastLoaded, TwoChoices])


@both
def test_of_three_masters_one_that_is_fully_busy_gets_little_but_something(make: type[LeastLoaded]) -> None:
    counts = picks(make(chance()), [fresh("a"), fresh("b"), fresh("busy", 1.0)], 2_000)
    assert 0 < counts["busy"] < 300
    assert counts["a"] == pytest.approx(counts["b"], rel=0.1)


@both
def test_a_busy_master_that_is_relieved_has_its_part_again_at_once(make: type[LeastLoaded]) -> None:
    fleet = Fleet(make, {"a": 0.1, "b": 0.1, "busy": 1.0}, rate=50)
    assert 0 < shares(fleet.run(6))["busy"] < 0.15
    fleet.loads["busy"] = 0.1
    fleet.run(2)
    assert 0.25 < shares(fleet.run(6))["busy"] < 0.4


@both
def test_shares_are_in_proportion_to_what_each_has_left(make: type[LeastLoaded]) -> None:
    counts = make(chance()).assign([fresh("a", 0.2), fresh("b", 0.6), fresh("c", 0.6)], 1600)
    assert [counts[node] for node in "abc"] == pytest.approx([800, 400, 400], rel=0.1)


@both
def test_a_node_that_does_not_answer_is_left_alone(make: type[LeastLoaded]) -> None:
    among = [fresh("a"), fresh("b"), replace(fresh("stuck"), outstanding=1000)]
    assert "stuck" not in make(chance()).assign(among, 500)


def test_senders_with_the_same_old_figures_do_not_run_to_the_same_node() -> None:
    among = [fresh("best", 0.2), fresh("b", 0.5), fresh("c", 0.5)]
    both = sum((picks(LeastLoaded(chance(seed)), among, 90) for seed in range(2)), Counter[str]())
    assert [both[node] for node in ("best", "b", "c")] == pytest.approx([80, 50, 50], abs=8)


def test_of_an_envelope_nobody_gets_a_second_message_while_another_equal_has_none() -> None:
    for seed in range(20):
        assert LeastLoaded(chance(seed)).assign(named("a b c"), 3) == {"a": 1, "b": 1, "c": 1}


def test_senders_that_see_equals_each_begin_with_another() -> None:
    almost = [fresh("a", 0.10), fresh("b", 0.12), fresh("c", 0.15)]  # all within 10 % of the best
    firsts = Counter(LeastLoaded(chance(seed)).pick(almost) for seed in range(300))
    assert all(count == pytest.approx(100, abs=35) for count in firsts.values()) and len(firsts) == 3


@both
def test_the_moment_of_a_node_s_state_draws_no_crowd_to_it(make: type[LeastLoaded]) -> None:
    fleet = Fleet(make, dict.fromkeys("abc", 0.3), senders=4, phases={"a": 0.0, "b": 0.1, "c": 1.0})
    fleet.run(2)
    assert all(max(tenth.values()) / tenth.total() < 0.55 for tenth in fleet.run(2))


@both
def test_a_node_whose_states_do_not_arrive_keeps_its_part(make: type[LeastLoaded]) -> None:
    fleet = Fleet(make, dict.fromkeys("abc", 0.3), rate=50, silent={"c"})
    fleet.run(30)
    assert shares(fleet.run(10))["c"] == pytest.approx(1 / 3, rel=0.1)


def parts_of_a_newcomer(make: type[LeastLoaded]) -> list[float]:
    """Return the share of a new node beside three equal ones in each tenth of a second, from four senders."""
    fleet = Fleet(make, dict.fromkeys("abc", 0.3), senders=4)
    fleet.run(4)
    fleet.join("new", 0.3)
    return [tenth["new"] / tenth.total() for tenth in fleet.run(3)]


def test_a_node_that_joins_has_its_part_after_half_a_second_and_then_no_more() -> None:
    parts = parts_of_a_newcomer(LeastLoaded)
    assert min(parts[:4]) > 0.9 and max(parts[6:]) < 0.4


def test_with_two_choices_a_node_that_joins_is_never_given_more_than_half() -> None:
    parts = parts_of_a_newcomer(TwoChoices)
    assert min(parts[:4]) > 0.35 and max(parts) < 0.65 and max(parts[18:]) < 0.4


def test_the_interval_of_states_says_when_one_is_old() -> None:
    among = [fresh("a", 0.5), fresh("b", 0.5), Candidate("slow", load=0.0, age=20.0)]
    default, told = LeastLoaded(chance()), LeastLoaded(chance())
    told.started(NodeInfo("heron", interval=10.0))
    assert default.assign(among, 400)["slow"] == pytest.approx(133, abs=10)
    assert told.assign(among, 400)["slow"] == pytest.approx(200, abs=10)


def test_of_the_last_two_in_a_band_each_can_be_taken() -> None:
    """The largest value that the jitter can have stays within the band."""

    def almost_one() -> float:
        return 1 - 2**-53

    jitter: Jitter = almost_one
    for n in range(1, 65):
        assert LeastLoaded(jitter).pick([fresh(f"n{place}") for place in range(n)]) == f"n{n - 1}"
        assert TwoChoices(jitter).pick([fresh(f"n{place}") for place in range(n)]) == f"n{n - 1}"
