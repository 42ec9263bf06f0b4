"""Transactions over several stores that a crash has interrupted: what a start makes of their rows."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mesh.errors import StoreError
from mesh.operations import BOOT, Append, Delete, Image, Put
from mesh.routing.branches import (
    BRANCH,
    DECIDED,
    PIECE,
    PREPARED,
    Completion,
    HiddenOps,
    Recovery,
    completions,
    decision_row,
    hidden_rows,
    recovery,
)
from mesh.routing.retained_value import last_values
from mesh.wire.envelope import PERSISTENT, Envelope

KEY = b"s" * 16, 7
OPS = HiddenOps(((b"header", b"body"), (b"h2", b"b2")), (("part", b"jobs\0p", b"acked"),))


def image(*rows: Put, retained: Mapping[bytes, bytes] | None = None) -> Image:
    tables = {BRANCH: {row.key: row.value for row in rows}, "retained": dict(retained or {})}
    return Image([], tables, BOOT)


@pytest.mark.parametrize(
    ("branch", "is_hidden", "step"),
    [
        ("", False, Recovery.SERVE),
        ("", True, Recovery.DROP),
        (DECIDED, True, Recovery.FINISH),
        (DECIDED, False, Recovery.REMOVE),
        (PREPARED, True, Recovery.SERVE),
    ],
)
def test_abort_is_presumed_without_a_decision(branch: str, is_hidden: bool, step: Recovery) -> None:
    assert recovery(branch, is_hidden) is step


def test_without_a_decision_hidden_rows_are_dropped_unless_the_decision_may_be_missing() -> None:
    rows = hidden_rows(KEY, OPS)
    images = {"": image(), "fast": image(*rows)}
    assert completions(images) == [Completion("fast", [Delete(BRANCH, row.key) for row in rows])]
    assert completions(images, keeps_undecided=True) == []


def test_a_decided_transaction_is_completed_in_the_main_store_last() -> None:
    rows = hidden_rows(KEY, OPS)
    own = HiddenOps(((b"h3", b"b3"),))
    images = {"": image(decision_row(KEY), *hidden_rows(KEY, own)), "fast": image(*rows), "big": image()}
    fast, last = completions(images)
    assert (fast.store, last.store) == ("fast", "")
    assert fast.ops == [
        Append(BOOT, b"header", b"body"),
        Append(BOOT + 1, b"h2", b"b2"),
        Put("part", b"jobs\0p", b"acked"),
        *(Delete(BRANCH, row.key) for row in rows),
    ]
    assert last.ops[0] == Append(BOOT, b"h3", b"b3") and last.ops[-1] == Delete(BRANCH, decision_row(KEY).key)


def test_two_transactions_get_different_positions() -> None:
    other = b"t" * 16, 1
    keys = (KEY, other)
    images = {
        "": image(*(decision_row(key) for key in keys)),
        "fast": image(*(row for key in keys for row in hidden_rows(key, OPS))),
    }
    appended = [op.position for each in completions(images) for op in each.ops if isinstance(op, Append)]
    assert appended == [BOOT, BOOT + 1, BOOT + 2, BOOT + 3]


def test_large_operations_are_in_pieces() -> None:
    rows = hidden_rows(KEY, HiddenOps(((b"header", bytes(3 * PIECE)),)))
    assert len(rows) == 4 and all(len(row.value) <= PIECE for row in rows)
    found = completions({"": image(decision_row(KEY)), "fast": image(*rows)})
    assert found[0].ops[0] == Append(BOOT, b"header", bytes(3 * PIECE))


def value_row(stream: bytes, sent: int) -> tuple[str, bytes, bytes]:
    e = Envelope(stream, "", 1, 1, ("k",), 1, 1, b"x", flags=PERSISTENT, sent=sent)
    (value,) = last_values(e)
    return "retained", value.store_key, value.pack()


@pytest.mark.parametrize(("sent", "is_written"), [(1, False), (3, True)])
def test_a_retained_value_does_not_replace_a_newer_one(sent: int, is_written: bool) -> None:
    _, key, newer = value_row(b"o" * 16, 2)
    row = value_row(b"s" * 16, sent)
    own = image(decision_row(KEY), *hidden_rows(KEY, HiddenOps((), (row,))), retained={key: newer})
    (found,) = completions({"": own})
    assert (Put(*row) in found.ops) is is_written


def test_a_damaged_row_is_an_error() -> None:
    with pytest.raises(StoreError):
        completions({"": image(Put(BRANCH, b"\0short", b""))})
    with pytest.raises(StoreError):
        completions({"": image(decision_row(KEY), Put(BRANCH, hidden_rows(KEY, OPS)[0].key, b"?"))})
