"""Does what a site put off go there again, ever more rarely, and at once when it goes on?"""

import pytest

from mesh.sites.stream_backoff import LONGEST, SHORTEST, StreamBackoff, goes_again, is_for_now
from tests.each import each

KEY, OTHER = b"key", b"other"


def test_it_goes_again_after_a_pause_that_doubles_each_time_in_a_row() -> None:
    pauses, now, lengths = StreamBackoff(), 0.0, []
    for _ in range(12):
        until = pauses.defer_stream(KEY, now)
        assert pauses.defer_stream(KEY, now + 0.1) == until, "the same pause, of what was sent with it"
        assert KEY in pauses and pauses.deadline() == until and pauses.take_ended(until - 0.01) == []
        lengths.append(until - now)
        now = until
        assert pauses.take_ended(now) == [KEY] and pauses.take_ended(now) == [], "once"
        assert KEY not in pauses and pauses.deadline() is None
    assert lengths[:3] == [SHORTEST, 2 * SHORTEST, 4 * SHORTEST] and lengths[-1] == LONGEST


def test_what_goes_on_begins_with_a_short_pause_anew() -> None:
    pauses = StreamBackoff()
    pauses.take_ended(pauses.defer_stream(KEY, 0.0))
    pauses.went_on(KEY, 0.5)
    assert pauses.defer_stream(KEY, 1.0) == 1.0 + SHORTEST


def test_a_last_word_on_some_of_it_makes_a_pause_short_and_does_not_end_it() -> None:
    pauses = StreamBackoff()
    for _ in range(4):
        pauses.take_ended(until := pauses.defer_stream(KEY, 0.0))
    until = pauses.defer_stream(KEY, until)
    pauses.went_on(OTHER, 3.0)
    assert pauses.deadline() == until
    pauses.went_on(KEY, 3.0)
    assert KEY in pauses and pauses.take_ended(3.0) == [] and pauses.take_ended(3.0 + SHORTEST) == [KEY]


def test_what_is_owed_no_more_takes_no_room() -> None:
    pauses = StreamBackoff()
    pauses.defer_stream(KEY, 0.0)
    pauses.drop_stream(KEY)
    pauses.drop_stream(OTHER)
    assert pauses.deadline() is None and pauses.take_ended(100.0) == []


def test_to_those_of_this_site_a_refusal_is_a_last_word() -> None:
    assert is_for_now("/site/LON/node/heron/client/joe/session/1", "STORE_FULL")
    assert not is_for_now("/node/heron/client/joe/session/1", "STORE_FULL")
    assert not is_for_now("/site/LON/node/heron/client/joe/session/1", "NO_RIGHT")


@pytest.mark.parametrize("state", ["SITE_UNREACHABLE", "TAILBACK_FULL", "CLOCK_AHEAD"])
def test_of_what_may_have_come_there_a_refusal_of_its_way_is_no_last_word(state: str) -> None:
    assert goes_again(state, True) and not goes_again(state, False)


@each("state", ["OK", "NO_RIGHT", "UNKNOWN_NODE", "NOT_CONNECTED", "FORWARD_WARNING"])
def test_what_has_no_leave_or_no_node_is_told_so_though_the_line_was_lost_meanwhile(state: str) -> None:
    assert not goes_again(state, True)
    assert goes_again("WAY_LOST", False)
