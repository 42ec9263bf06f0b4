"""Numbers and streams of an outbox."""

import pytest

from mesh.features.transactions.model.outbox_rules import (
    STREAMS,
    first_number,
    is_temporary,
    may_use_stream,
    next_attach,
    numbered,
    stream_of,
)


@pytest.mark.parametrize(
    ("next_number", "clock", "left_at", "number"),
    [
        (7, 1000, 7, 7),
        (7, 1000, 0, 1000),  # just taken
        (7, 1000, 9, 1000),  # restored
        (2000, 1000, 0, 2000),  # the clock is behind
        (9, 1000, 7, 9),  # another sender had the stream
    ],
)
def test_the_next_number(next_number: int, clock: int, left_at: int, number: int) -> None:
    assert first_number(next_number, clock, left_at) == number


def test_only_the_owner_uses_a_stream_and_only_within_its_lease() -> None:
    assert may_use_stream("a", "a", is_lease_over=False)
    assert not may_use_stream("a", "a", is_lease_over=True)
    assert not may_use_stream("b", "a", is_lease_over=False)


def test_a_visit_is_above_all_before_also_after_a_restore() -> None:
    assert next_attach(3, 1000) == 1000
    assert next_attach(1000, 1000) == 1001


def test_rows_of_a_domain_get_consecutive_numbers_in_order() -> None:
    rows = [(1, "a"), (2, "b"), (3, "a"), (5, "b")]
    assert numbered(rows, 10) == [(10, 1), (11, 3), (12, 2), (13, 5)]


def test_equal_orders_have_one_stream() -> None:
    assert stream_of("") == 0
    assert stream_of("customer 7") == stream_of("customer 7")
    assert {stream_of(f"customer {n}") for n in range(200)} == set(range(STREAMS))


def test_only_a_lack_of_room_passes() -> None:
    assert is_temporary("QUEUE_FULL")
    assert not is_temporary("NO_QUEUE")
