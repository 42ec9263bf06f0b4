"""Gaps, lost states, wrong clocks and bad lines of a history."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from mesh.history.views import coverage
from tests.spark.views.histories import event, history, queue, state, told
from tests.spark.writing import uuid

pytestmark = pytest.mark.spark


def test_gaps_and_lost_states_are_told_for_each_node(session: SparkSession) -> None:
    rows = [state("egret", 2 * at, version=at + 1) for at in range(200) if not 50 <= at < 75]
    rows += [state("egret", 500 + 2 * at, version=at + 1, boot=2) for at in range(10)]
    rows += [state("heron", 2 * at, version=at + 1) for at in range(0, 50)]
    rows += [event("dead", "heron", "egret", 450), queue("heron", "q", 60, 1)]
    found = told(coverage.rows(history(session, rows)), "node")
    assert found["egret"] == {
        "node": "egret", "uuid": uuid("egret"), "boots": 2, "states": 185, "states_lost": 25, "first_at": 0.0,
        "last_at": 518.0, "gap_s": 102.0, "gap_at": 398.0, "lines": 0, "future": 0, "past": 0,
    }  # fmt: skip
    assert (found["heron"]["lines"], found["heron"]["gap_s"], found["heron"]["states_lost"]) == (2, None, 0)


def test_a_gap_of_half_a_minute_is_never_overlooked(session: SparkSession) -> None:
    rows = [state(f"n{start}", at) for start in range(0, 60, 7) for at in (start, start + 1, start + 31)]
    found = told(coverage.rows(history(session, rows)), "node")
    assert {row["gap_s"] for row in found.values()} == {30.0}


def test_clocks_of_1970_and_2099_are_told(session: SparkSession) -> None:
    rows = [state("egret", datetime(year, 1, 1, tzinfo=UTC), up=1) for year in (1970, 2019, 2099)]
    rows += [
        event("joined", "heron", "egret", datetime(2099, 1, 1, tzinfo=UTC)),
        event("dead", "heron", "x", 3),
    ]
    found = told(coverage.rows(history(session, rows)), "node")
    assert (found["egret"]["past"], found["egret"]["future"]) == (2, 1)
    assert (found["heron"]["past"], found["heron"]["future"], found["heron"]["states"]) == (0, 1, 0)


def test_the_time_until_a_clock_is_set_is_no_silence(session: SparkSession) -> None:
    rows = [state("egret", datetime(1970, 1, 1, 0, 0, at, tzinfo=UTC), up=at) for at in range(10)]
    rows += [state("egret", at) for at in (0, 2, 42)]
    found = told(coverage.rows(history(session, rows)), "node")["egret"]
    assert (found["gap_s"], found["gap_at"], found["past"]) == (40.0, 2.0, 10)


def test_quarantine_is_told_by_reason_and_writer(session: SparkSession) -> None:
    name = "lab-1:a.b-0123abcd-7"
    rows = [
        {"kind": "quarantine", "at": 0, "segment": segment, "reason": reason, "raw": raw}
        for segment, reason, raw in [
            (f"{name}-1.jsonl", "not JSON", "{b"),
            (f"{name}-1.jsonl", "not JSON", "{a"),
            (f"{name}-2.jsonl", "not JSON", "{c"),
            (f"{name}-2.jsonl", "cpu above 100", "{}"),
            ("notes.txt", "not JSON", "hello"),
        ]
    ]
    found = told(coverage.quarantined(history(session, rows)), "reason", "node")
    assert found["not JSON", "lab-1:a.b"] == {
        "reason": "not JSON",
        "node": "lab-1:a.b",
        "rows": 3,
        "segments": 2,
        "example": "{a",
    }
    assert found["cpu above 100", "lab-1:a.b"]["rows"] == found["not JSON", None]["rows"] == 1
