"""Balancers remember how nodes answer, for a limited time."""

from math import inf, nan

import pytest

from mesh.balancers import answers
from mesh.balancers.answers import AnswerRecords


def test_what_is_answered_is_outstanding_no_more() -> None:
    known = AnswerRecords()
    known.sent("a", 1, 5)
    known.count_answers("a", 1, 2, 0.5)
    assert known.record_of("a", 1) == (3, 0.5)
    known.count_answers("a", 1, 1, None)
    assert known.record_of("a", 1) == (2, 0.5)
    known.count_answers("a", 1, 9, 0.5)
    assert known.record_of("a", 1) == (0, 0.5)


def test_the_latest_answer_counts_an_eighth() -> None:
    known = AnswerRecords()
    known.sent("a", 1)
    for seconds in (1.0, 9.0):
        known.count_answers("a", 1, 1, seconds)
    assert known.record_of("a", 1)[1] == pytest.approx(2.0)


@pytest.mark.parametrize("senseless", [nan, inf, -1.0, 0.0])
def test_a_time_that_makes_no_sense_is_none(senseless: float) -> None:
    known = AnswerRecords()
    known.sent("a", 1, 2)
    known.count_answers("a", 1, 1, 0.25)
    known.count_answers("a", 1, 1, senseless)
    assert known.record_of("a", 1) == (0, 0.25)


def test_another_process_begins_anew_and_owes_nothing_of_the_one_before() -> None:
    known = AnswerRecords()
    known.sent("a", 1, 5)
    assert known.record_of("a", 2) == (0, 0.0)
    known.sent("a", 2)
    known.count_answers("a", 1, 5, 1.0)
    assert (known.record_of("a", 2), known.record_of("a", 1)) == ((1, 0.0), (0, 0.0))


def test_only_so_many_are_remembered_and_none_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "KEPT", 3)
    known = AnswerRecords()
    for node in "abcad":
        known.sent(node, 1)
    assert list(known._records) == ["c", "a", "d"] and known.record_of("b", 1) == (0, 0.0)
    known.keep(lambda node: node == "d")
    assert list(known._records) == ["d"]
    known.count_answers("a", 1, 1, 1.0)
    assert list(known._records) == ["d"]
