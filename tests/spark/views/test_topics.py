"""The busiest topics: those with the most messages."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from mesh.history.views import topics
from tests.spark.views.histories import event, history, told, topic

pytestmark = pytest.mark.spark


def test_messages_of_all_boots_and_masters_are_one_sum(session: SparkSession) -> None:
    rows = [event("started", "heron", "heron", 0), event("started", "heron", "heron", 1000, observer_boot=2)]
    rows += [topic("heron", "a", at, 2 * at, content=20 * at) for at in (10, 110)]
    rows += [topic("heron", "a", 1000 + at, at, content=at, observer_boot=2) for at in (0, 100)]
    rows += [event("started", "egret", "egret", 0)]
    rows += [topic("egret", "a", at, at) for at in (10, 60)]
    rows += [topic("egret", "quiet", 60, 0), topic("egret", "a", 60, 500, domain="other")]
    found = told(topics.busiest(history(session, rows)), "domain", "topic")
    assert list(found) == [("other", "a"), ("", "a"), ("", "quiet")]
    assert found["", "a"] == {
        "domain": "",
        "topic": "a",
        "messages": 220 + 100 + 60,
        "bytes": 2200 + 100,
        "messages_per_s": pytest.approx(320 / 200 + 60 / 50),
        "masters": 2,
    }
    assert found["", "quiet"]["masters"] == 0


def test_a_line_of_1970_makes_no_topic_slow(session: SparkSession) -> None:
    rows = [event("started", "heron", "heron", 0), topic("heron", "a", datetime(1970, 1, 1, tzinfo=UTC), 0)]
    rows += [topic("heron", "a", at, at) for at in (100, 200)]
    assert told(topics.busiest(history(session, rows)), "topic")["a"]["messages_per_s"] == 2.0


def test_only_so_many_are_shown(session: SparkSession) -> None:
    rows = [event("started", "heron", "heron", 0)]
    rows += [topic("heron", f"t{number}", 10, number) for number in range(9)]
    assert list(told(topics.busiest(history(session, rows), 3), "topic")) == ["t8", "t7", "t6"]
