"""The decisions about a COMMIT."""

import pytest

from mesh.features.transactions.model.rules import (
    Verdict,
    commit_verdict,
    is_expired,
    is_within_window,
    main_store,
)


@pytest.mark.parametrize(
    ("has_outcome", "is_under_way", "may_run", "verdict"),
    [
        (False, False, True, Verdict.RUN),
        (False, False, False, Verdict.REFUSE),
        (True, False, True, Verdict.REPEAT),
        (True, False, False, Verdict.REPEAT),
        (False, True, True, Verdict.AWAIT),
        (False, True, False, Verdict.AWAIT),
    ],
)
def test_a_commit_runs_once(has_outcome: bool, is_under_way: bool, may_run: bool, verdict: Verdict) -> None:
    assert commit_verdict(has_outcome, is_under_way, may_run) is verdict


def test_a_session_has_64_transactions_under_way() -> None:
    assert [n for n in range(80) if is_within_window(n, 10)] == list(range(10, 74))
    assert [n for n in range(5) if is_expired(n, 3)] == [0, 1, 2]


def test_the_only_store_of_a_transaction_keeps_its_outcome_and_otherwise_that_of_the_node() -> None:
    assert (main_store(set()), main_store({""}), main_store({"fast"})) == ("", "", "fast")
    assert (main_store({"", "fast"}), main_store({"fast", "big"})) == ("", "")
