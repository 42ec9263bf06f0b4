"""Times to live between nodes: a message is never extended by the encoding of its expiry."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from mesh.wire.ttls import LONGEST, OVER, end_of, ttl_of

NOW = 1000.0


def test_a_message_without_an_end_has_none_at_the_next_node() -> None:
    assert ttl_of(inf, NOW) == 0 and end_of(0, NOW) == inf


def test_a_message_whose_time_is_over_has_none_left_at_the_next_node() -> None:
    for until in (NOW, NOW - 0.0001, NOW - 3600.0):
        assert ttl_of(until, NOW) == OVER
    assert end_of(OVER, NOW) == NOW


def test_the_longest_time_is_one_that_can_be_said() -> None:
    assert ttl_of(NOW + 10**9, NOW) == LONGEST


@given(st.floats(0.0, 86_400.0))
def test_no_hop_adds_time_and_none_takes_a_millisecond_and_more(seconds: float) -> None:
    end = end_of(ttl_of(NOW + seconds, NOW), NOW)
    assert NOW + seconds - 0.001001 <= end <= NOW + seconds + 0.000001
