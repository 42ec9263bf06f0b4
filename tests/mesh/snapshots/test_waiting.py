"""Reports about the longest queues: bounded in number, and one more for each queue that becomes idle."""

from mesh.snapshots.waiting import Longest, Waiting

MOST = 3


def names(told: list[Waiting]) -> list[str]:
    return [queue.name for queue in told]


def test_the_longest_come_first_and_no_more_than_so_many() -> None:
    found = [Waiting(f"q{depth}", depth, 100) for depth in (2, 9, 1, 5)]
    assert names(Longest(MOST).select(found)) == ["q9", "q5", "q2"]


def test_what_is_empty_is_told_only_while_somebody_takes_from_it() -> None:
    found = [Waiting("idle", 0, 0, consumers=0), Waiting("taken", 0, 0, consumers=2), Waiting("s", 0, 0)]
    assert names(Longest(MOST).select(found)) == ["taken"]


def test_one_that_has_become_idle_is_told_once_more_with_its_figures() -> None:
    longest = Longest(MOST)
    longest.select([Waiting("queue/jobs", 5, 7, consumers=1), Waiting("session/joe", 4, 9)])
    last = Waiting("queue/jobs", 0, 0, None, 0, 0.5, 1.5, 3, 4)
    assert longest.select([last]) == [last, Waiting("session/joe", 0, 0)]
    assert longest.select([last]) == [] and not longest.told


def test_one_that_is_idle_comes_back_and_is_told_again() -> None:
    longest = Longest(MOST)
    for _ in range(2):
        assert names(longest.select([Waiting("q", 1, 1)])) == ["q"]
        assert longest.select([]) == [Waiting("q", 0, 0)]


def test_one_that_is_no_more_among_the_longest_is_told_when_it_is_empty() -> None:
    longest = Longest(1)
    longest.select([Waiting("old", 1, 1)])
    assert names(longest.select([Waiting("old", 1, 1), Waiting("new", 2, 2)])) == ["new"]
    assert names(longest.select([Waiting("new", 2, 2)])) == ["new", "old"]


def test_of_many_that_become_idle_at_once_the_rest_is_told_next_time() -> None:
    longest = Longest(MOST)
    for depth in range(1, 8):  # each is the longest once
        longest.select([Waiting(f"q{n}", n if n <= depth else 0, 1) for n in range(8)])
    told = [names(longest.select([])) for _ in range(4)]
    assert sorted(map(len, told), reverse=True) == [3, 3, 1, 0]
    assert sorted(name for some in told for name in some) == [f"q{n}" for n in range(1, 8)]
