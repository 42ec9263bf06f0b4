"""Lows that a sender can keep. `test_multi_path_stream` tests that the receiver may rely on them."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.streams.promises import Promises

A, B = b"a" * 16, b"b" * 16
STEPS = st.lists(st.tuples(st.booleans(), st.sampled_from([A, B]), st.integers(1, 30), st.integers(0, 5)))


def test_it_is_the_lowest_that_is_open() -> None:
    promises = Promises()
    promises.add_numbers(A, 5, 6)
    promises.add_numbers(A, 9, 9)
    assert promises.low(A, 20) == 5
    promises.close(A, 5, 5)
    assert promises.low(A, 20) == 6
    promises.close(A, 1, 8)
    assert promises.low(A, 20) == 9


def test_it_never_passes_that_of_the_publisher() -> None:
    promises = Promises()
    assert promises.low(A, 4) == 4
    promises.add_numbers(A, 10, 10)
    assert promises.low(A, 4) == 4, "4 may yet come by another way"


def test_streams_have_nothing_to_do_with_each_other() -> None:
    promises = Promises()
    promises.add_numbers(A, 5, 5)
    promises.close(B, 5, 5)
    assert (promises.low(A, 9), promises.low(B, 9)) == (5, 9)


@given(STEPS)
def test_it_remembers_what_is_open_and_nothing_else(steps: list[tuple[bool, bytes, int, int]]) -> None:
    promises, model = Promises(), {A: set[int](), B: set[int]()}
    for is_new, stream, first, more in steps:
        numbers = set(range(first, first + more + 1))
        if is_new:
            promises.add_numbers(stream, first, first + more)
            model[stream] |= numbers
        else:
            promises.close(stream, first, first + more)
            model[stream] -= numbers
        for each, are_open in model.items():
            assert promises.low(each, 17) == min(17, *are_open, 17)
        assert len(promises) == sum(map(bool, model.values()))
