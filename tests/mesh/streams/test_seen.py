"""Repeats and new messages of several masters, also after old numbers were forgotten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.streams.seen import SeenMessages

SPANS = st.tuples(st.integers(1, 30), st.integers(0, 5)).map(lambda span: (span[0], span[0] + span[1]))
BROUGHT = st.lists(st.tuples(st.sampled_from("AB"), SPANS), max_size=30)


def numbers_of(spans: list[tuple[int, int]]) -> list[int]:
    return [number for first, last in spans for number in range(first, last + 1)]


def test_streams_do_not_mix() -> None:
    seen = SeenMessages()
    seen.fresh("A", ("joe", ""), 1, 9)
    assert seen.fresh("A", ("joe", "RUGBY"), 1, 9) == [(1, 9)]
    assert seen.fresh("A", ("jane", ""), 1, 9) == [(1, 9)]


def test_a_replay_is_known_for_ever_however_much_was_forgotten() -> None:
    seen = SeenMessages(ranges=4)
    for number in range(1, 2_000, 2):
        assert seen.fresh("A", "s", number, number) == [(number, number)]
    assert [number for number in range(1, 2_000, 2) if seen.fresh("A", "s", number, number)] == []


def test_forgetting_lets_a_repeat_of_another_master_through_but_loses_nothing() -> None:
    seen = SeenMessages(ranges=2)
    for number in (1, 3, 5, 7):
        seen.fresh("A", "s", number, number)
    assert seen.fresh("B", "s", 1, 8) == [(1, 4), (6, 6), (8, 8)]
    assert seen.fresh("B", "s", 1, 8) == []


def test_the_ranges_of_a_stream_are_bounded() -> None:
    seen = SeenMessages()
    for number in range(1, 2_000, 2):
        seen.fresh("A", "s", number, number)
    assert len(seen._streams["s"].ranges) == 256


def test_the_stream_not_heard_of_for_longest_goes_first() -> None:
    seen = SeenMessages(streams=2)
    for stream in ("s", "t", "s", "u"):
        seen.fresh("A", stream, 1, 1)
    assert seen.highest("A", "s") == (1, 1)
    assert seen.highest("A", "t") == (0, 0)
    assert seen.fresh("A", "t", 1, 1) == [(1, 1)], "a repeat that passes, not a loss"
    assert len(seen._streams) == 2


def test_a_replay_keeps_its_stream_remembered() -> None:
    seen = SeenMessages(streams=2)
    for stream in ("s", "t"):
        seen.fresh("A", stream, 1, 1)
    assert seen.fresh("A", "s", 1, 1) == []
    seen.fresh("A", "u", 1, 1)
    assert seen.fresh("A", "s", 1, 1) == []


def test_the_high_is_the_highest_that_this_origin_brought() -> None:
    seen = SeenMessages()
    assert seen.highest("A", "s") == (0, 0)
    seen.fresh("A", "s", 1, 5)
    seen.fresh("A", "s", 2, 3)
    seen.fresh("B", "s", 1, 2)
    assert [seen.highest(each, "s") for each in "ABC"] == [(5, 5), (2, 5), (0, 5)]


@pytest.mark.parametrize("span", [(0, 1), (3, 2), (-1, -1)])
def test_what_is_no_range_is_refused_and_remembered_nowhere(span: tuple[int, int]) -> None:
    seen = SeenMessages()
    with pytest.raises(ValueError, match="not a range"):
        seen.fresh("A", "s", *span)
    assert seen.fresh("A", "s", 1, 4) == [(1, 4)]


@given(BROUGHT)
def test_within_the_bounds_exactly_the_news_passes(brought: list[tuple[str, tuple[int, int]]]) -> None:
    seen = SeenMessages()
    had: set[int] = set()
    for origin, span in brought:
        new = numbers_of(seen.fresh(origin, "s", *span))
        assert new == [number for number in numbers_of([span]) if number not in had]
        had.update(new)


@given(BROUGHT, st.integers(1, 3))
def test_beyond_the_bounds_no_origin_repeats_itself(
    brought: list[tuple[str, tuple[int, int]]], ranges: int
) -> None:
    seen = SeenMessages(ranges=ranges)
    by_origin: dict[str, set[int]] = {"A": set(), "B": set()}
    for origin, span in brought:
        new = set(numbers_of(seen.fresh(origin, "s", *span)))
        assert not new & by_origin[origin]
        by_origin[origin].update(numbers_of([span]))


@given(BROUGHT, st.integers(1, 3))
def test_beyond_the_bounds_nothing_is_lost_while_each_origin_grows(
    brought: list[tuple[str, tuple[int, int]]], ranges: int
) -> None:
    seen = SeenMessages(ranges=ranges)
    high = {"A": 0, "B": 0}
    had: set[int] = set()
    for origin, (gap, length) in brought:
        # Each origin continues above its own highest number. The two drift apart and overtake each other.
        first = high[origin] + gap % 3 + 1
        high[origin] = last = first + length % 6
        had.update(numbers_of(seen.fresh(origin, "s", first, last)))
        assert set(range(first, last + 1)) <= had
