"""The segments that a node deletes when it has too many: safe ones first, and then the oldest."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.snapshots.marker import Marker
from mesh.snapshots.retention import ClosedSegments
from mesh.snapshots.segment import Segment
from tests.mesh.snapshots.lines import segment


def numbers(segments: list[Segment]) -> list[int]:
    return [it.name.number for it in segments]


def marker(*numbers: int) -> Marker:
    return Marker().add(segment(number).name for number in numbers)


def test_what_fits_stays() -> None:
    holding = ClosedSegments([segment(1), segment(2)])
    assert holding.take_surplus(200) == ([], [])
    assert holding.bytes == 200


def test_the_oldest_goes_first_and_only_as_much_as_must() -> None:
    holding = ClosedSegments(map(segment, (3, 1, 4, 2)))
    safe, unread = holding.take_surplus(250)
    assert (safe, numbers(unread)) == ([], [1, 2])
    assert holding.take_surplus(250) == ([], [])


def test_what_is_safe_goes_before_what_is_older() -> None:
    holding = ClosedSegments(map(segment, range(1, 7)), [marker(4, 5), marker(2)])
    safe, unread = holding.take_surplus(200)
    assert (numbers(safe), numbers(unread)) == ([2, 4, 5], [1])


def test_the_oldest_is_of_the_earliest_boot_whatever_the_clock_said() -> None:
    holding = ClosedSegments([segment(1, boot=8, hour="date=1970-01-01/hour=00"), segment(9, boot=7)])
    _, unread = holding.take_surplus(100)
    assert [it.name.boot for it in unread] == [7]


def test_one_that_is_closed_later_is_the_last_to_go() -> None:
    holding = ClosedSegments([segment(5)])
    holding.add(segment(6, size=300))
    assert holding.bytes == 400
    assert numbers(holding.take_surplus(300)[1]) == [5]


def test_it_says_beforehand_whether_unread_ones_would_go() -> None:
    holding = ClosedSegments(map(segment, (1, 2, 3)), [marker(1)])
    assert not holding.must_drop(200)
    assert holding.must_drop(199)


def test_what_goes_is_not_held_any_more() -> None:
    holding = ClosedSegments(map(segment, (1, 2, 3)), [marker(2)])
    holding.take_surplus(200)
    assert numbers(list(holding)) == [1, 3]
    assert ClosedSegments(list(holding), [marker(3)]).take_surplus(0) == ([segment(3)], [segment(1)])


@given(
    st.dictionaries(st.integers(1, 30), st.integers(0, 500)),
    st.sets(st.integers(1, 30)),
    st.integers(0, 5000),
)
def test_nothing_goes_that_could_stay(sizes: dict[int, int], safe: set[int], limit: int) -> None:
    holding = ClosedSegments((segment(n, size=size) for n, size in sizes.items()), [marker(*safe)])
    must_drop = holding.must_drop(limit)
    deleted, dropped = holding.take_surplus(limit)
    kept = list(holding)
    assert sorted(numbers([*deleted, *dropped, *kept])) == sorted(sizes)
    assert sum(it.bytes for it in kept) == holding.bytes <= limit
    order = [*sorted(safe & sizes.keys()), *sorted(sizes.keys() - safe)]
    assert numbers([*deleted, *dropped]) == order[: len(deleted) + len(dropped)]
    assert {*numbers(deleted)} <= safe and not {*numbers(dropped)} & safe
    assert must_drop or not dropped
    if deleted or dropped:
        assert holding.bytes + [*deleted, *dropped][-1].bytes > limit


def test_of_very_many_a_row_is_held_for_each_hour_and_not_for_each_segment() -> None:
    def hour(number: int) -> str:
        return f"date=2026-01-01/hour={number // 360:02}"

    holding = ClosedSegments(segment(number, hour=hour(number)) for number in range(1, 1001))
    assert len(holding._unread._rows) == 3
    assert holding.take_surplus(100) == ([], [segment(n, hour=hour(n)) for n in range(1, 1000)])


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(0, 3)), unique_by=lambda t: t[:2])
)
def test_the_oldest_go_first_in_whatever_hours_and_order_they_are_found(
    found: list[tuple[int, int, int]],
) -> None:
    segments = [segment(number, boot=boot, hour=f"date=2026-01-31/hour=0{h}") for boot, number, h in found]
    _, dropped = ClosedSegments(segments).take_surplus(0)
    assert dropped == sorted(segments, key=lambda it: (it.name.boot, it.name.number))
