"""Temporarily refused messages: later messages of their publisher wait for them, but for a limited time."""

from mesh.streams.deferred_numbers import BEHIND, FORGOTTEN, DeferredNumbers

JOE, ANN = b"joe", b"ann"


def put_off(*, most: int = 8, number: int = 3) -> DeferredNumbers:
    turns = DeferredNumbers(most)
    turns.defer(JOE, number, 0.0)
    return turns


def test_what_comes_later_waits_until_it_has_come_again() -> None:
    turns = put_off()
    assert turns.is_early(JOE, 4, 9, 1, 1.0)
    assert not turns.is_early(JOE, 1, 2, 1, 1.0), "that was before it"
    assert turns.is_early(JOE, 4, 9, 1, 1.0), "and changes nothing"
    assert not turns.is_early(ANN, 4, 9, 1, 1.0), "others do not wait"
    assert not turns.is_early(JOE, 2, 3, 1, 1.0)
    assert not turns.is_early(JOE, 4, 9, 1, 1.0)


def test_the_first_of_several_comes_first() -> None:
    turns = put_off()
    turns.defer(JOE, 5, 1.0)
    assert turns.is_early(JOE, 4, 4, 1, 1.0)
    turns.defer(JOE, 2, 1.0)
    assert turns.is_early(JOE, 3, 3, 1, 1.0)


def test_what_does_not_come_again_makes_nobody_wait_for_long() -> None:
    assert not put_off().is_early(JOE, 5, 5, 4, 1.0), "whoever keeps it has said that it is done"
    assert put_off().is_early(JOE, 5, 5, 3, FORGOTTEN - 1)
    assert not put_off().is_early(JOE, 5, 5, 3, FORGOTTEN)


def test_when_the_first_was_answered_after_all_later_ones_wait_for_the_next() -> None:
    """A copy of number 3 was refused while its answer was in transit, so number 3 is not resent."""
    turns = DeferredNumbers(8)
    turns.defer(JOE, 60, 0.0)
    turns.defer(JOE, 3, 0.0)
    assert turns.is_early(JOE, 60, 60, 1, 1.0), "its low is that of the time when it was published"
    turns.defer(JOE, 60, 1.0)
    assert turns.is_early(JOE, 75, 78, 60, 1.0)
    turns.defer(JOE, 75, 1.0)
    assert not turns.is_early(JOE, 60, 60, 1, 2.0)
    assert not turns.is_early(JOE, 75, 78, 60, 2.0)


def test_of_very_many_numbers_the_first_are_remembered() -> None:
    turns = DeferredNumbers(8)
    for number in range(100, 0, -1):
        turns.defer(JOE, number, 0.0)
    assert turns.is_early(JOE, BEHIND + 1, 200, BEHIND, 1.0)
    assert not turns.is_early(JOE, BEHIND + 2, 200, BEHIND + 1, 1.0)


def test_others_that_are_put_off_behind_it_do_not_make_them_wait_for_longer() -> None:
    turns = put_off()
    for second in range(0, int(FORGOTTEN), 10):
        assert turns.is_early(JOE, 5, 5, 3, second)
        turns.defer(JOE, 5, second)
    assert not turns.is_early(JOE, 5, 5, 3, FORGOTTEN)
    turns = put_off()
    turns.defer(JOE, 3, FORGOTTEN - 1)  # refused again
    assert turns.is_early(JOE, 5, 5, 3, FORGOTTEN)


def test_of_very_many_the_oldest_are_forgotten() -> None:
    turns = put_off(most=2)
    turns.defer(ANN, 1, 0.0)
    turns.defer(JOE, 3, 1.0)  # refused again
    turns.defer(b"eve", 1, 1.0)
    assert turns.is_early(JOE, 4, 4, 1, 1.0) and not turns.is_early(ANN, 4, 4, 1, 1.0)
