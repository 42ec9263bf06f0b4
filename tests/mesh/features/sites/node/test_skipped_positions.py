"""Positions that a site is no longer owed: known after a restart, in few rows."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.sites.node.skipped_positions import SkippedPositions

KEPT, DROPPED, NOT_ITS, START, SETTLED = range(5)


@given(st.lists(st.integers(KEPT, SETTLED)))
def test_what_was_dropped_is_known_and_what_was_kept_is_not_in_it(scenario: list[int]) -> None:
    passed, rows, settled = SkippedPositions(), dict[int, int](), 0
    kept, dropped, starts = set[int](), set[int](), 1
    for place, what in enumerate(scenario, 1):
        if what == KEPT:
            kept.add(place)
            passed.end_run()
        elif what == DROPPED:
            dropped.add(place)
            rows[passed.add(place)] = place
        elif what == START:
            passed, starts = SkippedPositions(rows.items()), starts + 1
        elif what == SETTLED:
            settled = place // 2
            for first in passed.take_settled(settled):
                del rows[first]
    known = SkippedPositions(rows.items()).places()
    assert all(place in known for place in dropped if place > settled)
    assert not any(place in known for place in kept)
    assert len(rows) <= len([place for place in kept if place > settled]) + starts
    assert list(passed.places()) == list(known)


def test_all_of_a_site_that_is_named_no_more_goes() -> None:
    passed = SkippedPositions([(9, 9), (3, 5)])
    assert (passed.take_settled(4), passed.take_settled(float("inf"))) == ([], [3, 9])
    assert passed.add(12) == 12
