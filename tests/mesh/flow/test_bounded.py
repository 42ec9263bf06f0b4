"""A bounded dictionary keeps its last entries, and returns the dropped ones."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.flow.bounded import Bounded


@given(st.lists(st.tuples(st.integers(0, 9), st.integers())), st.integers(1, 5))
def test_the_entries_that_were_kept_last_stay_and_each_other_one_is_returned(
    kept: list[tuple[int, int]], most: int
) -> None:
    table, model = Bounded[int, int](most), dict[int, int]()
    for key, value in kept:
        model.pop(key, None)
        model[key] = value
        oldest = next(iter(model.items())) if len(model) > most else None
        assert table.keep(key, value) == oldest
        if oldest is not None:
            del model[oldest[0]]
        assert list(table.items()) == list(model.items())
