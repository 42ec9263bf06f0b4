"""Operations of a commit, combined into one change."""

import pytest

from mesh.errors import StoreError
from mesh.operations import BOOT, Append, Delete, Drop, Put
from mesh.store.change import fold


def test_operations_come_to_what_is_left_of_them() -> None:
    change = fold([Append(5, b"h", b"5"), Append(6, b"h", b"6"), Drop((2, 5)), Put("feed", b"a", b"1")], 5)
    assert change.appended == {6: (b"h", b"6")}
    assert change.dropped == {2}
    assert change.rows == {("feed", b"a"): b"1"}
    assert (change.first, change.next_position) == (5, 7)
    assert list(change.empty_positions()) == [(5, 5)]


def test_positions_between_two_boots_are_given_up_as_a_range_however_long() -> None:
    change = fold([Append(5, b"", b""), Append(2**62, b"", b""), Drop((2**62 + 1, 2**62 + BOOT))], 5)
    assert list(change.empty_positions()) == [(6, 2**62 - 1), (2**62 + 1, 2**62 + BOOT)]
    assert (list(change.appended), change.next_position) == ([5, 2**62], 2**62 + BOOT + 1)


def test_the_last_word_on_a_row_stands() -> None:
    change = fold([Put("feed", b"a", b"1"), Put("feed", b"a", b"2"), Delete("feed", b"b")], 1)
    assert change.rows == {("feed", b"a"): b"2", ("feed", b"b"): None}


def test_nothing_to_do_is_false_and_a_position_given_up_is_something() -> None:
    assert not fold([], 1)
    assert not fold([Drop(())], 1)
    assert fold([Drop((1,))], 1)
    assert fold([Delete("feed", b"a")], 1)
    assert fold([Drop((1,))], 2)


def test_a_refusal_names_both_positions() -> None:
    with pytest.raises(StoreError, match="position 9 was appended where 5 is next"):
        fold([Append(9, b"", b"")], 5)
    with pytest.raises(StoreError, match="position 6 was dropped where 5 is next"):
        fold([Drop((6,))], 5)
