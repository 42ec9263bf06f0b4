"""Clients of a killed node are served at another one, and lose nothing."""

from collections import Counter

import pytest

from tools.lab_parts.visit_crowd import VisitBook
from tools.lab_parts.visit_soak import VisitPlan, VisitResult, longest_pause, visits_soaked


def test_anomalies_are_what_is_missing_comes_twice_or_comes_too_early() -> None:
    book = VisitBook({"ann:1", "ann:2", "ann:3"}, {"joe:1", "joe:2"}, taken=Counter({"joe:1": 2}))
    book.got["a"] = [("ann:1", "heron"), ("ann:3", "heron"), ("ann:2", "heron"), ("ann:3", "heron")]
    book.got["b"] = [("ann:2", "heron"), ("ann:1", "egret")]
    book.unflagged.append("joe:1")
    assert book.anomalies(["a", "b"]) == {
        "lost": 1, "doubled": 1, "out of order": 1, "late without the mark": 0,
        "jobs lost": 1, "jobs doubled": 1,
    }  # fmt: skip


def test_a_message_after_a_newer_one_of_its_publisher_must_be_marked_as_late() -> None:
    book = VisitBook()
    for number, master, is_late in ((1, "heron", False), (3, "egret", False), (2, "heron", True)):
        book.receive("a", f"ann:{number}", master, is_late)
    book.receive("b", "ann:2", "egret", False)  # another subscriber
    assert (book.late, book.unmarked) == (1, [])
    book.receive("b", "ann:1", "heron", False)
    assert book.anomalies(["a", "b"])["late without the mark"] == 1


def test_percentiles_are_those_of_the_waits_in_order() -> None:
    result = VisitResult([3.0, 1.0, 2.0])
    assert [result.percentile(share) for share in (0.0, 0.5, 0.99)] == [1.0, 2.0, 3.0]
    assert VisitResult().percentile(0.5) == 0.0


def test_a_pause_ends_when_the_client_is_served_or_the_restart_is_over() -> None:
    assert longest_pause([0.5, 1.0, 2.5, 9.0], began=1.0, ended=4.0) == 1.5
    assert longest_pause([], began=1.0, ended=4.0) == 3.0


@pytest.mark.slow
def test_a_drained_node_is_restarted_without_an_error_of_its_clients() -> None:
    result = visits_soaked(VisitPlan(kills=1, clients=12, back=0.0, seed=1, drains=True), lambda *_: None)
    assert result.is_clean and result.waits and result.calm and result.meanwhile, result


@pytest.mark.slow
def test_a_killed_node_loses_nothing_of_its_clients() -> None:
    result = visits_soaked(VisitPlan(kills=1, clients=12, back=10.0, seed=1), lambda *_: None)
    assert result.is_clean and result.waits and result.acknowledged
    assert result.percentile(1.0) < 10.0, "all were served before the node was back"
