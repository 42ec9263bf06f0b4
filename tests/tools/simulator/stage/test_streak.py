"""Streaks: the number of samples in a row in which a condition holds."""

from tools.simulator.stage.streak import Streaks


def test_what_is_so_in_each_sample_is_counted() -> None:
    streaks = Streaks[str]()
    counted = []
    for what in ("ab", "a", "ab", "ab"):
        streaks.begin()
        counted.append([streaks.count(each) for each in what])
    assert counted == [[1, 1], [2], [3, 1], [4, 2]]


def test_AD4_what_a_sample_says_nothing_of_begins_anew_however_much_later_it_is_so_again() -> None:
    """A node that watched a name again after a minute was once reported wrong for three samples."""
    streaks = Streaks[tuple[str, str]]()
    for _ in range(2):
        streaks.begin()
        streaks.count(("frodo", "calc"))
    for _ in range(60):
        streaks.begin()
    assert streaks.count(("frodo", "calc")) == 1
