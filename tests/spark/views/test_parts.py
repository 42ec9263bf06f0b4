"""The parts of queues at several nodes: stranded messages, and moved ones, which count once."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from mesh.history.views import parts
from tests.spark.views.histories import Row, event, history, queue, told

pytestmark = pytest.mark.spark

LINES = 10


def part(observer: str, name: str, ready: int, consumers: int, wants: int = 0, **more: Any) -> list[Row]:
    """Return lines of a part that does not change."""
    figures = {"ready": ready, "consumers": consumers, "wants": wants, "arrives": 0.0} | more
    return [queue(observer, f"queue/{name}", 10 * at, ready, **figures) for at in range(LINES)]


def test_what_waits_where_nobody_takes_is_stranded_if_somebody_takes_elsewhere(session: SparkSession) -> None:
    rows = [*part("heron", "jobs", 7, 0), *part("egret", "jobs", 0, 1, wants=3)]
    rows += [*part("heron", "alone", 7, 0), *part("egret", "alone", 2, 0)]
    rows += [*part("heron", "busy", 7, 1), *part("egret", "busy", 9, 1)]
    rows += [*part("heron", "idle", 0, 1, wants=5), *part("egret", "idle", 0, 1, wants=5)]
    found = told(parts.of_queues(history(session, rows)), "queue")
    shares = {
        name.removeprefix("queue/"): (row["stranded_share"], row["stranded_max"], row["starved_share"])
        for name, row in found.items()
    }
    assert shares == {
        "jobs": (1.0, 7, 1.0),
        "alone": (0.0, 0, 0.0),
        "busy": (0.0, 0, 0.0),
        "idle": (None, None, None),
    }
    assert found["queue/jobs"]["starved_max"] == 3, "there is no room for more"


def test_of_the_time_only_that_counts_in_which_something_is_ready(session: SparkSession) -> None:
    rows = part("egret", "jobs", 0, 1, wants=9)
    rows += [
        queue("heron", "queue/jobs", 10 * at, at % 2, ready=4 if at < 2 else 0, consumers=at, wants=0)
        for at in range(4)
    ]
    found = told(parts.of_queues(history(session, rows)), "queue")["queue/jobs"]
    assert (found["stranded_share"], found["starved_share"]) == (0.5, 1.0)


def test_what_moved_is_counted_where_it_came_and_from_the_start_of_each_boot(session: SparkSession) -> None:
    def counted(boot: int, moved: int, **more: int) -> Row:
        row = queue("egret", "queue/jobs", 100 * boot + moved, 0, consumers=1, moved_in=moved, moved_out=0)
        return row | {"observer_boot": boot} | more

    rows = [event("started", "egret", "egret", 199) | {"observer_boot": 2}]
    rows += [counted(1, 40), counted(1, 50), counted(2, 5), counted(2, 8)]
    rows += part("heron", "jobs", 1, 0, arrives=2.0, moved_in=0, moved_out=18)
    found = told(parts.of_queues(history(session, rows)), "queue")["queue/jobs"]
    assert (found["parts"], found["moved"]) == (2, 10 + 8)
    assert (found["put"], found["moved_share"]) == (180, 0.1)


def test_a_queue_at_one_node_is_no_matter_of_parts_nor_what_waits_for_a_session(
    session: SparkSession,
) -> None:
    rows = [
        *part("heron", "jobs", 7, 0),
        queue("heron", "session/joe", 0, 4),
        queue("egret", "session/joe", 0, 4),
    ]
    assert parts.of_queues(history(session, rows)).count() == 0


def test_lines_of_an_older_release_say_nothing_of_it(session: SparkSession) -> None:
    rows = [
        queue(who, "queue/jobs", 10 * at, 5, consumers=0) for who in ("heron", "egret") for at in range(5)
    ]
    row = told(parts.of_queues(history(session, rows)), "queue")["queue/jobs"]
    assert (row["parts"], row["moved"], row["stranded_share"], row["put"]) == (2, 0, None, None)
