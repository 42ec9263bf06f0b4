"""Checksums, and the account of all positions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.store.integrity import Audit, checksum


@given(st.binary(min_size=1), st.data())
def test_a_flipped_bit_changes_the_checksum(body: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(body) - 1))
    flipped = body[:place] + bytes([body[place] ^ 1 << data.draw(st.integers(0, 7))]) + body[place + 1 :]
    assert checksum(1, b"h", flipped) != checksum(1, b"h", body)


def test_a_byte_that_moves_from_one_field_to_the_next_changes_the_checksum() -> None:
    assert checksum(b"ab", b"c") != checksum(b"a", b"bc")
    assert checksum(1, 2) != checksum(2, 1)


def test_only_integers_and_bytes_have_a_checksum() -> None:
    with pytest.raises(TypeError, match="float"):
        checksum(1.5)


def test_a_row_with_a_field_of_another_kind_is_damaged() -> None:
    audit = Audit()
    assert not audit.is_sound("envelope 1", (1, None, b""), 0)
    assert audit.losses == "envelope 1 is damaged"


def test_an_account_without_a_gap_has_no_losses() -> None:
    audit = Audit()
    audit.count_positions(4, 4)
    audit.count_positions(1, 3)
    audit.finish(5)
    assert audit.losses == ""


@pytest.mark.parametrize(
    ("counted", "losses"),
    [
        ([(1, 2)], "missing: envelopes 3..4"),
        ([(1, 1), (3, 4)], "missing: envelope 2"),
        ([(1, 4), (2, 2)], "counted twice: envelope 2"),
        ([(1, 5)], "envelope 5 is past the end, position 5"),
        ([(1, 4), (0, 0)], "out of range: envelope 0"),
        ([(1, 4), (3, 2)], "out of range: envelopes 3..2"),
    ],
)
def test_what_the_account_lacks_or_has_twice_is_named(counted: list[tuple[int, int]], losses: str) -> None:
    audit = Audit()
    for first, last in counted:
        audit.count_positions(first, last)
    audit.finish(5)
    assert audit.losses == losses
