"""A publisher's stream at its master: each number is accepted once, and refused if that is uncertain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import StaleSequence, StoreError
from mesh.streams import origin
from mesh.streams.origin import MAX_RANGES, OriginStream

SPAN = st.tuples(st.integers(1, 40), st.integers(0, 6)).map(lambda span: (span[0], span[0] + span[1]))


def numbers(ranges: list[tuple[int, int]]) -> set[int]:
    return {n for first, last in ranges for n in range(first, last + 1)}


def test_what_is_settled_is_a_repeat_for_ever() -> None:
    stream = OriginStream()
    stream.accept_numbers(1, 3, low=1)
    stream.accept_numbers(7, 7, low=7)
    assert stream.accept_numbers(1, 3, low=1) == []
    assert stream.accept_numbers(5, 5, low=1) == [], "below low the publisher has its answer, whoever gave it"
    assert stream.accept_numbers(5, 8, low=1) == [(8, 8)]


def test_an_older_low_changes_nothing() -> None:
    stream = OriginStream()
    stream.accept_numbers(4, 4, low=4)
    assert stream.accept_numbers(5, 5, low=2) == [(5, 5)]
    assert stream.low == 4


def test_a_resend_from_before_what_is_remembered_is_refused_by_name() -> None:
    stream = OriginStream()
    for n in range(MAX_RANGES + 1):
        stream.accept_numbers(2 * n + 1, 2 * n + 1, low=1)
    assert stream.accept_numbers(3, 3, low=1) == [], "still remembered"
    said = "Message 1 of this stream may have been accepted before: .* only from number"
    with pytest.raises(StaleSequence, match=said) as caught:
        stream.accept_numbers(1, 1, low=1)
    assert caught.value.code == "STALE_SEQUENCE"
    assert stream.accept_numbers(2, 2, low=1) == [(2, 2)]


def test_what_was_forgotten_but_is_settled_is_no_reason_to_refuse() -> None:
    stream = OriginStream()
    for n in range(MAX_RANGES + 1):
        stream.accept_numbers(4 * n + 1, 4 * n + 1, low=1)
    top = 4 * MAX_RANGES + 1
    assert stream.accept_numbers(1, top + 1, low=top) == [(top + 1, top + 1)]


def test_what_was_refused_is_no_more_accepted_and_stays_refused_until_the_publisher_knows() -> None:
    stream = OriginStream()
    stream.accept_numbers(1, 9, 1)
    stream.refuse_numbers(4, 6)
    stream = OriginStream.unpack(stream.pack())
    assert (list(stream.above), list(stream.refused)) == ([(1, 3), (7, 9)], [(4, 6)])
    stream.accept_numbers(10, 10, 6)
    assert list(stream.refused) == [(6, 6)]
    for n in range(1, MAX_RANGES + 2):
        stream.refuse_numbers(2 * n + 10, 2 * n + 10)
    assert len(stream.refused) == MAX_RANGES


def test_a_stream_that_was_stored_before_refusals_were_is_read() -> None:
    for above in ((), ((3, 4), (7, 9))):
        numbers = [2, 1, *(number for both in above for number in both)]
        stream = OriginStream.unpack(b"".join(number.to_bytes(8) for number in numbers))
        assert (stream.low, tuple(stream.above), tuple(stream.refused)) == (2, above, ())


@pytest.mark.parametrize("data", [b"", b"x" * 23, b"\x00" * 24 + b"x" * 15])
def test_what_is_no_packed_stream_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(StoreError, match="stored state of a stream"):
        OriginStream.unpack(data)


@given(st.lists(st.tuples(st.sampled_from(["accept", "refuse"]), SPAN), max_size=40))
def test_it_is_a_set_of_numbers(scenario: list[tuple[str, tuple[int, int]]]) -> None:
    stream, model = OriginStream(), set[int]()
    for what, (first, last) in scenario:
        asked = set(range(first, last + 1))
        if what == "accept":
            assert numbers(stream.accept_numbers(first, last, low=1)) == asked - model
            model |= asked
        else:
            stream.refuse_numbers(first, last)
            model -= asked
        stream = OriginStream.unpack(stream.pack())
        assert numbers(list(stream.above)) == model


@given(st.lists(st.tuples(SPAN, st.integers(0, 10)), max_size=60))
def test_it_never_takes_a_number_twice_however_little_it_remembers(
    scenario: list[tuple[tuple[int, int], int]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(origin, "MAX_RANGES", 2)
        stream, model, low = OriginStream(), set[int](), 1
        for (first, last), settled in scenario:
            low = max(low, min(first, settled))
            asked = {n for n in range(first, last + 1) if n >= low}
            try:
                fresh = numbers(stream.accept_numbers(first, last, low))
            except StaleSequence:
                assert asked, "what is settled is known for sure"
            else:
                assert fresh == asked - model
                model |= fresh
            assert len(stream.above) <= 2
            stream = OriginStream.unpack(stream.pack())


def test_what_another_master_has_is_said_once_and_stays_known_after_a_restart() -> None:
    stream = OriginStream()
    stream.accept_numbers(1, 9, 1)
    stream.refuse_numbers(2, 3)
    stream.mark_second([(4, 6), (8, 8)])
    stream = OriginStream.unpack(stream.pack())
    assert (list(stream.above), list(stream.refused)) == ([(1, 1), (4, 9)], [(2, 3)])
    stream.settle(5)
    assert stream.take_second(1, 7) == [(5, 6)]
    stream = OriginStream.unpack(stream.pack())
    assert stream.take_second(1, 9) == [(8, 8)]
    assert stream.take_second(1, 9) == [] and stream.pack() == OriginStream.unpack(stream.pack()).pack()


def test_what_another_master_has_is_remembered_within_bounds() -> None:
    stream = OriginStream()
    for n in range(1, MAX_RANGES + 2):
        stream.mark_second([(2 * n, 2 * n)])
    assert stream.take_second(1, 3) == [] and stream.take_second(4, 4) == [(4, 4)]
    stream.accept_numbers(1, 1, low=99)
    stream.mark_second([(100, 100)])
    assert stream.take_second(1, 100) == [(100, 100)]


def test_more_of_what_another_has_than_there_is_is_no_stream() -> None:
    stream = OriginStream()
    stream.mark_second([(4, 6)])
    packed = stream.pack()
    for cut in (16, 8):
        with pytest.raises(StoreError):
            OriginStream.unpack(packed[:-cut])
