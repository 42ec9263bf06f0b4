"""After a refusal one message is retried at growing intervals, and the others follow it."""

from mesh.flow.backoff import LONGEST, SHORTEST, Backoff

KEY, OTHER = "joe to ann", "eve to ann"


def refused(*numbers: int) -> Backoff[str]:
    trials = Backoff[str]()
    for number in numbers:
        trials.record_refusal(KEY, 0.0, number)
    return trials


def test_nothing_leaves_for_a_while_and_then_one() -> None:
    trials = refused(1, 2)
    assert trials and trials.holds(KEY, 1) and trials.holds(KEY, 3) and not trials.holds(OTHER, 1)
    assert trials.deadline() == SHORTEST and not trials.due_keys(SHORTEST - 0.01)
    assert trials.due_keys(SHORTEST) == [KEY]
    trials.begin_attempt(KEY, 1)
    assert trials.attempts() == [(KEY, 1)] and trials.deadline() is None and not trials.due_keys(100.0)
    assert not trials.holds(KEY, 1) and trials.holds(KEY, 2)


def test_each_trial_in_vain_makes_the_while_twice_as_long() -> None:
    trials, now, lengths = refused(1), 0.0, []
    for _ in range(12):
        until = trials.deadline()
        assert until is not None
        lengths.append(until - now)
        now = until
        trials.begin_attempt(KEY, 1)
        trials.record_refusal(KEY, now, 1)
    assert lengths[:3] == [SHORTEST, 2 * SHORTEST, 4 * SHORTEST] and lengths[-1] == LONGEST


def test_what_had_left_before_counts_for_nothing() -> None:
    trials = refused(1)
    trials.begin_attempt(KEY, 1)
    trials.record_refusal(KEY, 1.0, 2)
    assert not trials.record_arrival(KEY, 3)
    assert trials.attempts() == [(KEY, 1)]


def test_all_may_leave_when_what_was_tried_is_answered() -> None:
    trials = refused(1)
    assert not trials.record_arrival(KEY, 1), "it was not tried yet"
    trials.begin_attempt(KEY, 1)
    assert trials.record_arrival(KEY, 1) and not trials.holds(KEY, 2) and not trials
    trials.record_refusal(KEY, 5.0, 2)
    assert trials.deadline() == 5.0 + SHORTEST, "it begins anew"


def test_where_nothing_is_left_to_try_nothing_is_remembered() -> None:
    trials = refused(1)
    trials.drop(KEY)
    assert not trials and not trials.holds(KEY, 2)


# --- one attempt at a time ----------------------------------------------------------------------------------


def test_it_goes_again_after_a_pause_that_doubles_each_time_in_a_row() -> None:
    pauses, now, lengths = Backoff[str](), 0.0, []
    for _ in range(12):
        until = pauses.record_refusal(KEY, now)
        assert pauses.record_refusal(KEY, now + 0.1) == until, "the same pause, of what was sent with it"
        assert pauses.holds(KEY) and pauses.deadline() == until and pauses.begin_due(until - 0.01) == []
        lengths.append(until - now)
        now = until
        assert pauses.begin_due(now) == [KEY] and pauses.begin_due(now) == [], "once"
        assert not pauses.holds(KEY) and pauses.deadline() is None
    assert lengths[:3] == [SHORTEST, 2 * SHORTEST, 4 * SHORTEST] and lengths[-1] == LONGEST


def test_what_goes_on_begins_with_a_short_pause_anew() -> None:
    pauses = Backoff[str]()
    pauses.begin_due(pauses.record_refusal(KEY, 0.0))
    pauses.record_progress(KEY, 0.5)
    assert pauses.record_refusal(KEY, 1.0) == 1.0 + SHORTEST


def test_a_last_word_on_some_of_it_makes_a_pause_short_and_does_not_end_it() -> None:
    pauses = Backoff[str]()
    for _ in range(4):
        pauses.begin_due(until := pauses.record_refusal(KEY, 0.0))
    until = pauses.record_refusal(KEY, until)
    pauses.record_progress(OTHER, 3.0)
    assert pauses.deadline() == until
    pauses.record_progress(KEY, 3.0)
    assert pauses.holds(KEY) and pauses.begin_due(3.0) == [] and pauses.begin_due(3.0 + SHORTEST) == [KEY]


def test_what_is_owed_no_more_takes_no_room() -> None:
    pauses = Backoff[str]()
    pauses.record_refusal(KEY, 0.0)
    pauses.drop(KEY)
    pauses.drop(OTHER)
    assert pauses.deadline() is None and pauses.begin_due(100.0) == []
