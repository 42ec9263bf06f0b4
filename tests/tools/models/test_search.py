"""The search visits each state once, runs states to quiescence, and finds a shortest trace."""

from tests.tools.models.counter import Counter
from tools.models.search import TO_REST, Bounds, Violation, explore


def test_each_state_is_visited_once() -> None:
    outcome = explore(Counter(), Bounds(every=3))
    assert outcome.is_complete
    assert outcome.violation is None
    assert (outcome.states, outcome.steps, outcome.depth, outcome.at_rest) == (10, 16, 4, 3)


def test_the_trace_to_a_bad_state_is_a_shortest_one() -> None:
    outcome = explore(Counter(bad=7), Bounds(), has_trace=True)
    assert str(outcome.violation) == "C1: 7 is bad"
    assert sorted(outcome.trace) == ["+1", "+3", "+3"]
    assert outcome.depth == 3
    assert not outcome.is_complete


def test_a_step_may_violate_an_invariant() -> None:
    outcome = explore(Counter(broken_step=1), Bounds(), has_trace=True)
    assert outcome.violation == Violation("C2", "1 breaks")
    assert outcome.trace == ("+1", "break")


def test_a_violation_at_rest_is_named_in_the_trace() -> None:
    outcome = explore(Counter(bad_at_rest=3), Bounds(), has_trace=True)
    assert outcome.violation == Violation("C3", "3 is bad at rest")
    assert outcome.trace == ("+3", TO_REST)
    assert explore(Counter(bad_at_rest=3), Bounds(every=100)).violation is None


def test_the_bound_of_states_ends_a_search() -> None:
    outcome = explore(Counter(), Bounds(states=5))
    assert 5 < outcome.states < 10
    assert not outcome.is_complete


def test_without_a_wanted_trace_there_is_none() -> None:
    assert explore(Counter(bad=7), Bounds()).trace == ()
