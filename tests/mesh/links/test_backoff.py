import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.links.backoff import delay, rare_delay

UNITS = st.floats(0, 1, exclude_max=True)


@given(st.integers(1, 10**6), UNITS)
def test_a_wait_stays_within_its_bounds(attempt: int, unit: float) -> None:
    assert 0.1 <= delay(attempt, unit) <= 30.0


@given(st.integers(1, 10**6), UNITS, UNITS)
def test_more_chance_is_more_wait(attempt: int, unit: float, other: float) -> None:
    low, high = sorted((unit, other))
    assert delay(attempt, low) <= delay(attempt, high)


def test_the_bound_doubles_with_each_attempt_up_to_the_longest_wait() -> None:
    almost_one = 1 - 2**-53
    waits = [round(delay(attempt, almost_one), 6) for attempt in range(1, 11)]
    assert waits == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_chance_spreads_a_wait_over_all_of_its_range() -> None:
    assert delay(20, 0.0) == 0.1
    assert delay(20, 0.5) == pytest.approx(15.05)


def test_a_longest_wait_below_the_shortest_leaves_the_shortest() -> None:
    assert delay(5, 0.9, low=2.0, high=1.0) == 2.0


def test_a_refused_peer_is_asked_after_a_minute_then_twice_as_long_up_to_an_hour() -> None:
    waits = [rare_delay(attempt) for attempt in range(1, 9)]
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert rare_delay(10**6) == 3600
