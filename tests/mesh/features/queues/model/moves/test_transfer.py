"""The state of a transfer beyond the cases of a single message, which test_transfer_orders searches."""

import pytest

from mesh.errors import RemoteError
from mesh.features.queues.model.moves.transfer import (
    MOST_RANGES,
    IncomingPieces,
    Outgoing,
    PieceVerdict,
    first_of_boot,
)
from mesh.wire.codec import pack
from mesh.wire.limits import LARGEST_NUMBER
from tests.each import each


def test_whoever_has_lost_his_disk_doubts_all_that_was_begun_before_he_was_sent_anything_new() -> None:
    come = IncomingPieces()
    assert come.classify(7, 5, is_again=True) is PieceVerdict.PERHAPS
    come.accept_number(7)
    come.written(7)
    assert come.classify(8, 5, is_again=True) is PieceVerdict.PERHAPS, (
        "one that was taken does not tell of others"
    )
    assert come.classify(9, 5, is_again=False) is PieceVerdict.NEW
    assert come.classify(10, 5, is_again=True) is PieceVerdict.NEW
    assert come.classify(8, 5, is_again=True) is PieceVerdict.PERHAPS


def test_what_is_known_outlives_a_restart_but_not_a_disk_that_went_back() -> None:
    come = IncomingPieces()
    come.classify(3, 1, is_again=False)
    come.accept_number(3)
    come.written(3)
    again, back = IncomingPieces.unpack(come.pack()), IncomingPieces.unpack(come.pack(), is_sure=False)
    assert again.classify(4, 1, is_again=True) is PieceVerdict.NEW
    assert back.classify(4, 1, is_again=True) is PieceVerdict.PERHAPS
    assert again.classify(3, 1, is_again=True) is back.classify(3, 1, is_again=True) is PieceVerdict.TAKEN
    assert IncomingPieces.unpack(back.pack()).classify(4, 1, is_again=True) is PieceVerdict.PERHAPS


def test_what_did_not_reach_the_disk_was_not_taken() -> None:
    come = IncomingPieces()
    come.classify(3, 1, is_again=False)
    come.accept_number(3)
    assert come.classify(3, 1, is_again=True) is PieceVerdict.COMING
    come.withdraw_number(3)
    assert come.classify(3, 1, is_again=True) is PieceVerdict.NEW and not come


def test_what_is_sent_in_holes_has_a_bound_and_what_is_over_is_forgotten() -> None:
    come = IncomingPieces()
    for number in range(1, 2 * MOST_RANGES, 2):
        assert not come.is_long
        come.accept_number(number)
    assert come.is_long
    come.drop_below(2 * MOST_RANGES)
    assert not come.is_long and len(come.pack()) < 40


@each("row", [b"", b"\xc1", pack([0, b""]), pack([1, b"x"]), pack([1, b"", 0]), pack([1])])
def test_a_row_that_is_none_is_refused(row: bytes) -> None:
    with pytest.raises(RemoteError):
        IncomingPieces.unpack(row)


def test_numbers_of_a_boot_are_above_all_of_the_one_before_and_can_be_stored() -> None:
    out = Outgoing[str](first_of_boot(3))
    assert out.assign_number("a") == first_of_boot(3) < out.next_number < first_of_boot(4) < LARGEST_NUMBER
