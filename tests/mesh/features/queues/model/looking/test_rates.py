"""Rates, which follow current events and forget old ones."""

import pytest

from mesh.features.queues.model.looking.rates import OVER, QueueTraffic, RateMeter


def test_a_steady_rate_is_told_as_it_is() -> None:
    rate = RateMeter()
    for n in range(100 * 60):
        rate.add(2, 1000 + n / 100)
    assert rate.value(1060) == pytest.approx(200, rel=0.01)


def test_what_stops_is_forgotten() -> None:
    rate = RateMeter()
    rate.add(1000, 5.0)
    assert rate.value(5.0) == 1000 / OVER
    assert rate.value(5.0 + OVER) == pytest.approx(36.8, rel=0.01)
    assert rate.value(5.0 + 100 * OVER) < 1e-9
    assert rate.value(1e18) == 0


def test_nothing_is_no_rate() -> None:
    assert RateMeter().value(0) == RateMeter().value(1e9) == 0


def test_a_clock_that_goes_back_makes_no_more_of_it() -> None:
    rate = RateMeter()
    rate.add(10, 100.0)
    assert rate.value(50.0) == 1.0
    rate.add(10, 50.0)
    assert rate.value(100.0) == 2.0


def test_settled_messages_count_in_both_rates_of_which_the_pace_follows_sooner() -> None:
    it = QueueTraffic()
    for second in range(1, 4):
        it.count_settled(10, float(second))
    assert it.finished == 30
    assert 5 < it.pace.value(3.0) <= 20 and it.leaves.value(3.0) < it.pace.value(3.0)
    assert it.arrives.value(3.0) == 0.0
