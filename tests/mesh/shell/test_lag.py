"""The lag of the loop: a recent figure, which forgets old delays."""

from mesh.shell.lag import WINDOW, Lag


def test_a_loop_that_never_ran_is_not_late() -> None:
    assert (Lag().p99(1.0), Lag().worst(1.0)) == (0.0, 0.0)


def test_one_of_a_hundred_may_be_later() -> None:
    lag = Lag()
    for number in range(200):
        lag.record_lateness(0.5 if number == 7 else 0.01, 1.0)
    assert (lag.p99(1.0), lag.worst(1.0)) == (0.01, 0.5)


def test_what_was_late_is_soon_forgotten_however_seldom_the_loop_has_work() -> None:
    lag = Lag()
    for number in range(50):
        lag.record_lateness(0.4, number / 50)
    lag.record_lateness(0.0, 2.0)
    assert lag.p99(2.0) == 0.4
    assert lag.p99(1.5 + WINDOW) == 0.0
