"""Is one of what a site has no room for tried, ever more rarely, and does the rest follow it?"""

from mesh.sites.retry_probes import RetryProbes
from mesh.sites.stream_backoff import LONGEST, SHORTEST

KEY, OTHER = "joe to ann", "eve to ann"


def refused(*numbers: int) -> RetryProbes[str]:
    trials = RetryProbes[str]()
    for number in numbers:
        trials.record_refusal(KEY, number, 0.0)
    return trials


def test_nothing_leaves_for_a_while_and_then_one() -> None:
    trials = refused(1, 2)
    assert trials and trials.holds(KEY, 1) and trials.holds(KEY, 3) and not trials.holds(OTHER, 1)
    assert trials.deadline() == SHORTEST and not trials.due_keys(SHORTEST - 0.01)
    assert trials.due_keys(SHORTEST) == [KEY]
    trials.tries(KEY, 1)
    assert trials.tried() == [(KEY, 1)] and trials.deadline() is None and not trials.due_keys(100.0)
    assert not trials.holds(KEY, 1) and trials.holds(KEY, 2)


def test_each_trial_in_vain_makes_the_while_twice_as_long() -> None:
    trials, now, lengths = refused(1), 0.0, []
    for _ in range(12):
        until = trials.deadline()
        assert until is not None
        lengths.append(until - now)
        now = until
        trials.tries(KEY, 1)
        trials.record_refusal(KEY, 1, now)
    assert lengths[:3] == [SHORTEST, 2 * SHORTEST, 4 * SHORTEST] and lengths[-1] == LONGEST


def test_what_had_left_before_counts_for_nothing() -> None:
    trials = refused(1)
    trials.tries(KEY, 1)
    trials.record_refusal(KEY, 2, 1.0)
    assert not trials.record_arrival(KEY, 3)
    assert trials.tried() == [(KEY, 1)]


def test_all_may_leave_when_what_was_tried_is_answered() -> None:
    trials = refused(1)
    assert not trials.record_arrival(KEY, 1), "it was not tried yet"
    trials.tries(KEY, 1)
    assert trials.record_arrival(KEY, 1) and not trials.holds(KEY, 2) and not trials
    trials.record_refusal(KEY, 2, 5.0)
    assert trials.deadline() == 5.0 + SHORTEST, "it begins anew"


def test_where_nothing_is_left_to_try_nothing_is_remembered() -> None:
    trials = refused(1)
    trials.tries(KEY, None)
    assert not trials and not trials.holds(KEY, 2)
