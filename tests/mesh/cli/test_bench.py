"""Does the bench notice what is lost, doubled or out of order?"""

import time
from collections.abc import Iterable

from mesh.cli.bench import HEAD, Tally, summary

RUN = 7


def tally(numbers: Iterable[int], run: int = RUN) -> Tally:
    made = Tally(RUN)
    made.add([HEAD.pack(run, number, time.monotonic_ns()) for number in numbers])
    return made


def test_all_once_and_in_order_is_right() -> None:
    result = summary(tally(range(10)), published=10, took=1.0)
    assert result.is_right
    assert (result.publish_rate, result.p50 <= result.p99 <= result.worst) == (10.0, True)


def test_a_message_that_is_lost_doubled_or_late_is_counted_and_not_right() -> None:
    for numbers, expected in (([0, 2], (1, 0, 0)), ([0, 1, 1, 2], (0, 1, 0)), ([0, 2, 1], (0, 0, 1))):
        result = summary(tally(numbers), published=3, took=1.0)
        assert (result.lost, result.doubled, result.disordered) == expected
        assert not result.is_right


def test_another_bench_at_the_same_time_does_not_count() -> None:
    assert summary(tally(range(5), run=8), published=0, took=1.0).is_right
