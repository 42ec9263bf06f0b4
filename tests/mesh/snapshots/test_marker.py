"""The marker of segments that are safe elsewhere, kept as ranges."""

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.snapshots.marker import Marker
from mesh.snapshots.segment import SegmentName

numbers = st.sets(st.integers(1, 60))


def name(number: int, boot: int = 7, node: str = "heron") -> SegmentName:
    return SegmentName(node, "1a2b3c4d", boot, number)


def test_what_was_added_is_covered_and_nothing_else() -> None:
    marker = Marker().add(name(number) for number in (1, 2, 3, 5, 9))
    assert [n for n in range(12) if n and marker.covers(name(n))] == [1, 2, 3, 5, 9]
    assert not marker.covers(name(1, boot=6))
    assert not marker.covers(name(1, node="wren"))
    assert not Marker().covers(name(1))


def test_it_is_written_as_ranges_by_boot() -> None:
    marker = Marker().add([name(1), name(2), name(4), name(1, boot=8)])
    assert marker.encode() == b'{"heron-1a2b3c4d-7":[[1,2],[4,4]],"heron-1a2b3c4d-8":[[1,1]]}'
    assert Marker.parse(marker.encode()) == marker


def test_ranges_may_be_written_in_any_order_and_overlap() -> None:
    found = Marker.parse(b'{"heron-1a2b3c4d-7": [[8, 9], [1, 3], [2, 5], [6, 6]]}')
    assert found.ranges == {"heron-1a2b3c4d-7": ((1, 6), (8, 9))}


def test_boots_that_are_gone_can_be_left_out() -> None:
    marker = Marker().add([name(1), name(1, boot=8)])
    assert marker.only({"heron-1a2b3c4d-8"}) == Marker().add([name(1, boot=8)])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"a": 1}',
        b'{"a": [1]}',
        b'{"a": [[1]]}',
        b'{"a": [[1, 2, 3]]}',
        b'{"a": [[0, 1]]}',
        b'{"a": [[2, 1]]}',
        b'{"a": [[1, true]]}',
        b'{"a": [["1", "2"]]}',
        b'{"a": [[1, 2]]',
    ],
)
def test_a_damaged_one_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        Marker.parse(content)


@given(st.binary(max_size=50))
def test_no_bytes_at_all_do_harm(content: bytes) -> None:
    with contextlib.suppress(ValueError):
        Marker.parse(content)


@given(st.lists(numbers, max_size=4))
def test_it_covers_what_a_set_would_hold(added: list[set[int]]) -> None:
    marker, held = Marker(), set[int]()
    for some in added:
        marker, held = marker.add(map(name, some)), held | some
        assert {n for n in range(1, 62) if marker.covers(name(n))} == held
        assert Marker.parse(marker.encode()) == marker
        ranges = marker.ranges.get("heron-1a2b3c4d-7", ())
        assert all(last + 1 < first for (_, last), (first, _) in itertools.pairwise(ranges))
