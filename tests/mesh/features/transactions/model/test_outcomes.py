"""The outcomes of transactions: bounded, and never forgotten too early."""

from mesh.features.transactions.model import outcomes as module
from mesh.features.transactions.model.outcomes import (
    EnvelopeOutcome,
    Outcome,
    Outcomes,
    low_key,
    low_row,
    outcome_key,
)

JOE, ANN = b"j" * 16, b"a" * 16


def at(stamp: int, code: str = "") -> Outcome:
    return Outcome(stamp, (EnvelopeOutcome("OK", 2, ""),), code, code and "no", 3 if code else -1)


def rows_of(*recorded: tuple[bytes, int, int, Outcome]) -> dict[bytes, bytes]:
    rows = {}
    for stream, number, low, outcome in recorded:
        rows[outcome_key(stream, number)] = outcome.pack()
        rows[low_key(stream)] = low_row(low, outcome.stamp)
    return rows


def test_an_outcome_is_kept_until_the_client_has_it() -> None:
    it = Outcomes()
    assert it.record(JOE, 1, 1, "", at(5)) == []
    assert it.record(JOE, 2, 1, "fast", at(6, "NO_QUEUE")) == []
    assert (it.find(JOE, 1), it.find(JOE, 2), it.find(ANN, 1)) == (at(5), at(6, "NO_QUEUE"), None)
    assert it.record(JOE, 3, 3, "", at(7)) == [("", outcome_key(JOE, 1)), ("fast", outcome_key(JOE, 2))]
    assert (it.find(JOE, 1), it.find(JOE, 3), it.low(JOE), it.count) == (None, at(7), 3, 1)
    assert it.raise_low(JOE, 2) == [] and it.low(JOE) == 3
    assert it.forget(JOE) == [("", outcome_key(JOE, 3)), ("", low_key(JOE)), ("fast", low_key(JOE))]
    assert (it.count, it.low(JOE), it.forget(JOE)) == (0, 1, [])


def test_a_session_without_transactions_is_forgotten_after_a_day() -> None:
    it = Outcomes()
    it.record(JOE, 1, 1, "", at(5))
    it.record(ANN, 1, 1, "", at(6))
    it.record(JOE, 2, 1, "", at(7))
    assert it.expire(6) == []
    assert it.expire(7) == [("", outcome_key(ANN, 1)), ("", low_key(ANN))]
    assert it.find(JOE, 1) == at(5)


def test_rows_come_back_with_the_lowest_number_and_bad_ones_are_named() -> None:
    it = Outcomes()
    rows = rows_of((JOE, 1, 1, at(5)), (JOE, 2, 2, at(9)), (ANN, 7, 7, at(6, "QUEUE_FULL")))
    bad = {b"\0short": b"", b"\1" + JOE + b"!": b"", outcome_key(ANN, 9): b"\xc1", low_key(b"b" * 16): b"x"}
    assert sorted(it.restore("fast", {**rows, **bad})) == sorted(bad)
    assert it.restored() == [("fast", outcome_key(JOE, 1))]
    assert (it.find(JOE, 1), it.find(JOE, 2), it.low(JOE)) == (None, at(9), 2)
    assert it.find(ANN, 7) == at(6, "QUEUE_FULL")
    assert it.expire(7) == [("fast", outcome_key(ANN, 7)), ("fast", low_key(ANN))]


def test_the_session_that_was_idle_longest_makes_room() -> None:
    before, module.MOST = module.MOST, 3
    try:
        it = Outcomes()
        it.record(JOE, 1, 1, "", at(5))
        it.record(ANN, 1, 1, "", at(6))
        it.record(JOE, 2, 1, "", at(7))
        assert it.record(JOE, 3, 1, "", at(8)) == [("", outcome_key(ANN, 1)), ("", low_key(ANN))]
        assert it.count == 3
        assert it.record(JOE, 4, 1, "", at(9)) == []  # its own are limited by its window
    finally:
        module.MOST = before
