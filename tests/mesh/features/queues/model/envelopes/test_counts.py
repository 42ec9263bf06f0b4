"""Slices of runs of numbers, compared with slices of the numbers."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.queues.model.envelopes.counts import count, first_of, joined, numbers_of, slice_of

NUMBERS = st.sets(st.integers(1, 40), max_size=30).map(sorted)


@given(NUMBERS, st.integers(0, 35), st.integers(0, 35))
def test_a_slice_of_runs_is_that_of_their_numbers(numbers: list[int], start: int, end: int) -> None:
    runs = joined(numbers)
    assert (list(numbers_of(runs)), count(runs)) == (numbers, len(numbers))
    assert slice_of(runs, start, end) == joined(numbers[start:end])
    assert first_of(runs, end) == joined(numbers[:end])
