"""Sets of ranges, compared with the sets of numbers that they stand for."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteError
from mesh.streams.ranges import Ranges, numbers_within
from mesh.wire.limits import LARGEST_NUMBER

SPANS = st.tuples(st.integers(1, 40), st.integers(0, 8)).map(lambda span: (span[0], span[0] + span[1]))
ADDED = st.lists(SPANS, max_size=12)


def ranges_of(*spans: tuple[int, int]) -> Ranges:
    ranges = Ranges()
    for first, last in spans:
        ranges.add(first, last)
    return ranges


def numbers_of(spans: list[tuple[int, int]]) -> set[int]:
    return {number for first, last in spans for number in range(first, last + 1)}


def assert_lawful(ranges: Ranges, numbers: set[int]) -> None:
    spans = list(ranges)
    assert numbers_of(spans) == numbers
    assert all(first <= last for first, last in spans)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(spans))
    assert len(ranges) == len(spans)
    assert ranges.count() == len(numbers)
    assert ranges.top() == max(numbers, default=0)


@given(ADDED)
def test_adding_is_the_union(spans: list[tuple[int, int]]) -> None:
    ranges = Ranges()
    for place, (first, last) in enumerate(spans):
        ranges.add(first, last)
        assert_lawful(ranges, numbers_of(spans[: place + 1]))


@given(ADDED, SPANS)
def test_questions_are_answered_as_by_a_set(spans: list[tuple[int, int]], asked: tuple[int, int]) -> None:
    ranges, numbers = ranges_of(*spans), numbers_of(spans)
    wanted = numbers_of([asked])
    assert ranges.covers(*asked) == (wanted <= numbers)
    assert ranges.overlaps(*asked) == bool(wanted & numbers)
    assert all((number in ranges) == (number in numbers) for number in range(0, 60))
    end = asked[0] - 1
    while end + 1 in numbers:
        end += 1
    assert ranges.contiguous_end(asked[0]) == end


@given(ADDED, SPANS)
def test_what_is_missing_completes_the_range(spans: list[tuple[int, int]], asked: tuple[int, int]) -> None:
    ranges = ranges_of(*spans)
    gaps = ranges.missing(*asked)
    assert numbers_of(gaps) == numbers_of([asked]) - numbers_of(spans)
    assert gaps == list(ranges_of(*gaps)), "the gaps come in order and apart"
    for gap in gaps:
        ranges.add(*gap)
    assert ranges.covers(*asked)


@given(ADDED, SPANS)
def test_what_is_taken_away_is_what_was_in_common(
    spans: list[tuple[int, int]], asked: tuple[int, int]
) -> None:
    ranges, numbers = ranges_of(*spans), numbers_of(spans)
    common = ranges.common(*asked)
    taken = ranges.remove(*asked)
    assert_lawful(ranges, numbers - numbers_of([asked]))
    assert taken == common == sorted(taken)
    assert numbers_of(taken) == numbers & numbers_of([asked])


@given(ADDED, ADDED)
def test_many_are_put_in_and_taken_away_as_one_by_one(
    spans: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    together, one_by_one, runs = ranges_of(*spans), ranges_of(*spans), list(ranges_of(*others))
    taken = together.remove_all(runs)
    assert taken == [part for run in runs for part in one_by_one.remove(*run)]
    assert_lawful(together, numbers_of(spans) - numbers_of(others))
    together.add_all(runs)
    assert_lawful(together, numbers_of(spans) | numbers_of(others))


@given(ADDED)
def test_many_that_are_taken_out_of_one_leave_what_lies_between(others: list[tuple[int, int]]) -> None:
    whole, runs = (1, 1000), list(ranges_of(*others))
    ranges = ranges_of(whole)
    assert ranges.remove_all(runs) == runs
    assert_lawful(ranges, numbers_of([whole]) - numbers_of(others))


@given(ADDED, st.integers(0, 60))
def test_many_behind_all_are_put_in_whether_they_touch_or_not(
    spans: list[tuple[int, int]], beyond: int
) -> None:
    runs = [(beyond + first, beyond + last) for first, last in ranges_of(*spans)]
    one_by_one = [(number, number) for number in sorted(numbers_of(runs))]
    for each in (runs, one_by_one):
        ranges = ranges_of(*spans)
        ranges.add_all(each)
        assert_lawful(ranges, numbers_of(spans) | numbers_of(runs))


@given(ADDED, st.integers(0, 60))
def test_what_is_below_is_forgotten(spans: list[tuple[int, int]], number: int) -> None:
    ranges = ranges_of(*spans)
    ranges.drop_below(number)
    assert_lawful(ranges, {kept for kept in numbers_of(spans) if kept >= number})


def test_the_lowest_range_is_dropped_and_its_end_told() -> None:
    ranges = ranges_of((5, 7), (1, 2))
    assert ranges.drop_lowest() == 2
    assert list(ranges) == [(5, 7)]
    assert ranges.drop_lowest() == 7
    with pytest.raises(IndexError):
        ranges.drop_lowest()


@given(ADDED)
def test_packed_ranges_come_back(spans: list[tuple[int, int]]) -> None:
    ranges = ranges_of(*spans)
    assert list(Ranges.unpack(ranges.pack())) == list(ranges)


def test_the_largest_number_fits() -> None:
    ranges = ranges_of((1, 1), (3, LARGEST_NUMBER))
    assert list(Ranges.unpack(ranges.pack())) == [(1, 1), (3, LARGEST_NUMBER)]


def test_the_packed_form_is_fixed() -> None:
    assert ranges_of((1, 2), (256, 257)).pack().hex() == (
        "0000000000000001000000000000000200000000000001000000000000000101"
    )
    assert Ranges().pack() == b""


@given(
    st.binary(max_size=70)
    | st.lists(st.integers(0, 9), max_size=8).map(lambda n: struct.pack(f">{len(n)}Q", *n))
)
def test_any_bytes_are_ranges_or_refused(packed: bytes) -> None:
    try:
        ranges = Ranges.unpack(packed)
    except RemoteError:
        return
    assert ranges.pack() == packed
    assert list(ranges_of(*ranges)) == list(ranges), "what is admitted keeps the law"


@pytest.mark.parametrize(
    "numbers",
    [(0, 1), (0, 0), (2, 1), (1, 2, 3, 4), (5, 6, 1, 2), (1, 5, 3, 8), (1, 2**63), (2**64 - 1,) * 2],
)
def test_packed_ranges_that_break_the_law_are_refused(numbers: tuple[int, ...]) -> None:
    with pytest.raises(RemoteError, match="out of order"):
        Ranges.unpack(struct.pack(f">{len(numbers)}Q", *numbers))


def test_packed_ranges_cut_short_are_refused() -> None:
    packed = ranges_of((1, 2), (5, 6)).pack()
    for length in (1, 8, 15, 17, 31):
        with pytest.raises(RemoteError, match="not a multiple of 16"):
            Ranges.unpack(packed[:length])


def test_too_many_packed_ranges_are_refused_before_they_are_read() -> None:
    with pytest.raises(RemoteError, match="1000001 packed ranges"):
        Ranges.unpack(bytes(16 * 1_000_001))


@given(st.frozensets(st.integers(1, 30)), st.integers(0, 40), st.integers(-2, 40))
def test_numbers_within_are_those_of_a_range(numbers: frozenset[int], first: int, more: int) -> None:
    found = numbers_within(numbers, first, first + more)
    assert sorted(found) == [n for n in sorted(numbers) if first <= n <= first + more]


@pytest.mark.parametrize("span", [(0, 1), (-1, 3), (3, 2), (1, LARGEST_NUMBER + 1)])
def test_what_is_no_range_is_not_added(span: tuple[int, int]) -> None:
    ranges = ranges_of((1, 2))
    with pytest.raises(ValueError, match="not a range"):
        ranges.add(*span)
    assert list(ranges) == [(1, 2)]


def test_the_repr_shows_the_first_ranges() -> None:
    assert repr(Ranges()) == "Ranges()"
    assert repr(ranges_of((1, 2), (5, 5))) == "Ranges(1..2, 5..5)"
    many = ranges_of(*((number, number) for number in range(1, 100, 2)))
    assert repr(many).endswith("15..15, ...)")
