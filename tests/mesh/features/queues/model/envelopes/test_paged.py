"""Envelopes that wait on disk only keep their order, in spans of positions close together or far apart."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.queues.model.envelopes.paged import ROWS, SPAN, PagedEnvelopes


def paged(*positions: int) -> PagedEnvelopes:
    found = PagedEnvelopes()
    for position in positions:
        found.add(position, 2 * position, 1, 100, 0)
    return found


def places(found: PagedEnvelopes, behind: int = -1) -> list[int]:
    return [position for (position, _, _), _ in found.after(behind)]


@given(
    st.sets(st.integers(0, 12), min_size=1, max_size=8),
    st.integers(0, 12),
    st.sampled_from((0, SPAN - 6, 5 * SPAN - 3)),
)
def test_a_lot_is_put_back_at_its_place_wherever_a_span_ends(
    numbers: set[int], back: int, start: int
) -> None:
    here = [start + number for number in sorted(numbers)]
    found = paged(*here)
    if start + back in here:
        assert found.take_out(start + back)
    found.reinsert(start + back, 2 * (start + back), 1, 100, 0)
    expected = sorted({*here, start + back})
    assert places(found) == expected
    assert [sent for _, sent in found.after(-1)] == [2 * position for position in expected]
    assert places(found, start + back) == [position for position in expected if position > start + back]
    assert found.take_positions(len(expected), 10**6) == tuple(expected)
    assert not found and found.messages == found.bytes == 0


def test_what_was_taken_first_is_put_back_before_the_rest() -> None:
    found = paged(SPAN - 1, SPAN, SPAN + 1)
    assert found.take_positions(2, 10**6) == (SPAN - 1, SPAN)
    found.reinsert(SPAN - 1, 1, 1, 100, 0)
    assert places(found) == [SPAN - 1, SPAN + 1]


def test_a_page_has_only_so_many() -> None:
    found = paged(*range(ROWS + 1))
    assert len(found._pages) == 2 and len(found) == ROWS + 1
