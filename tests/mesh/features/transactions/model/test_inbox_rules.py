"""Whether a job is begun, by its inbox row."""

import pytest

from mesh.features.transactions.model.inbox_rules import (
    EVERY,
    InboxVerdict,
    inbox_key,
    inbox_verdict,
    is_deletion_due,
    is_held_long,
    kept_from,
)


@pytest.mark.parametrize(
    ("has_row", "is_row_open", "is_redelivered", "may_be_deleted", "is_held", "verdict"),
    [
        (False, False, False, False, False, InboxVerdict.BEGIN),
        (False, False, True, False, False, InboxVerdict.BEGIN),
        (False, False, False, True, False, InboxVerdict.BEGIN),
        (False, False, True, True, False, InboxVerdict.UNKNOWN),
        (True, False, True, True, False, InboxVerdict.DONE_BEFORE),
        (False, True, True, True, False, InboxVerdict.WAIT),
        (True, False, True, False, True, InboxVerdict.GIVE_BACK),
    ],
)
def test_the_verdict(
    has_row: bool, is_row_open: bool, is_redelivered: bool, may_be_deleted: bool, is_held: bool,
    verdict: InboxVerdict,
) -> None:  # fmt: skip
    assert inbox_verdict(has_row, is_row_open, is_redelivered, may_be_deleted, is_held) is verdict


def test_the_key_of_an_outbox_row_outlives_its_number() -> None:
    stream = bytes(16)
    assert inbox_key(stream, f"{stream.hex()}:4", None) == f"{stream.hex()}:4"
    assert inbox_key(stream, f"{stream.hex()}:4", "row") == inbox_key(stream, f"{stream.hex()}:9", "row")


def test_another_stream_cannot_occupy_the_key() -> None:
    assert inbox_key(b"a" * 16, "x:4", "row") != inbox_key(b"b" * 16, "x:4", "row")


def test_times() -> None:
    assert is_held_long(51, keep=100) and not is_held_long(50, keep=100)
    assert [n for n in range(1, 2 * EVERY + 1) if is_deletion_due(n)] == [EVERY, 2 * EVERY]
    assert kept_from(10_000_000, keep=4) == 6_000_000
