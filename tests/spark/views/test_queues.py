"""Queues that grow, and queues whose length only varies."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from mesh.history.views import queues
from tests.spark.views.histories import history, queue, told

pytestmark = pytest.mark.spark


def test_growth_is_messages_an_hour(session: SparkSession) -> None:
    rows = [queue("heron", "up", 10 * at, 5 * at, bytes=at, oldest=at) for at in range(20)]
    rows += [queue("heron", "down", 10 * at, 100 - 5 * at) for at in range(20)]
    rows += [queue("heron", "level", 10 * at, 7) for at in range(20)]
    rows += [queue("heron", "to and fro", 10 * at, 50 * (at % 2)) for at in range(20)]
    rows += [queue("heron", "hardly", 3600 * at, 1000 + at) for at in range(20)]
    rows += [queue("heron", "short", 10 * at, 100 * at) for at in range(2)]
    rows += [queue("heron", "empty", at, None) for at in range(5)]
    found = told(queues.growth(history(session, rows)), "queue")
    assert {name: row["verdict"] for name, row in found.items()} == {
        "up": "growing",
        "down": "draining",
        "level": "steady",
        "to and fro": "steady",
        "hardly": "steady",
        "short": "unknown",
        "empty": "unknown",
    }
    up = found["up"]
    assert (up["depth"], up["depth_max"], up["bytes"], up["oldest_s"], up["lines"]) == (95, 95, 19, 19.0, 20)
    assert up["growth_per_hour"] == pytest.approx(1800)
    assert found["down"]["growth_per_hour"] == pytest.approx(-1800)
    assert found["down"]["depth_max"] == 100
    assert found["empty"]["growth_per_hour"] is None


def test_a_queue_that_rose_and_is_empty_again_does_not_grow(session: SparkSession) -> None:
    """An empty queue has a single line."""
    rows = [queue("heron", "rose", 10 * at, 5 * at) for at in range(1, 60)]
    still = told(queues.growth(history(session, rows)), "queue")["rose"]
    gone = told(queues.growth(history(session, [*rows, queue("heron", "rose", 600, 0)])), "queue")["rose"]
    assert (still["verdict"], gone["verdict"]) == ("growing", "steady")
    assert (gone["depth"], gone["depth_max"]) == (0, 295)


def test_queues_of_one_name_at_two_nodes_are_two(session: SparkSession) -> None:
    rows = [queue(observer, "tailback/x", at, at) for observer in ("heron", "egret") for at in range(3)]
    assert len(told(queues.growth(history(session, rows)), "observer", "queue")) == 2


def test_a_line_of_1970_does_not_flatten_the_slope(session: SparkSession) -> None:
    rows = [queue("heron", "up", 10 * at, 5 * at) for at in range(20)]
    rows += [queue("heron", "up", datetime(1970, 1, 1, tzinfo=UTC), 0)]
    found = told(queues.growth(history(session, rows)), "queue")["up"]
    assert (found["verdict"], round(found["growth_per_hour"])) == ("growing", 1800)


def test_consumers_are_the_last_and_rates_the_mean_and_of_other_queues_there_are_none(
    session: SparkSession,
) -> None:
    rows = [
        queue("heron", "queue/jobs", 10 * at, 5, consumers=at, arrives=2.0 * at, leaves=1.0)
        for at in range(3)
    ]
    rows += [queue("heron", "session/joe", 10 * at, 5) for at in range(3)]
    found = told(queues.growth(history(session, rows)), "queue")
    columns = ("consumers", "arrives_per_s", "leaves_per_s")
    assert tuple(found["queue/jobs"][name] for name in columns) == (2, 2.0, 1.0)
    assert tuple(found["session/joe"][name] for name in columns) == (None, None, None)
