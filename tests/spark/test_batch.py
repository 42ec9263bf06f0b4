"""A batch gets into the history once, also if a stopped writer wakes up while another repeats the batch."""

import json
import threading
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from mesh.history.batch import Added, Table
from mesh.history.errors import SparkJobError
from mesh.history.files import Files, address
from tests.spark.comparing import rows
from tests.spark.writing import line

pytestmark = pytest.mark.spark


def batch(session: SparkSession) -> DataFrame:
    path = "file:///in/date=2026-01-02/hour=03/heron-1a2b3c4d-1-1.jsonl"
    lines = [json.dumps(line(kind)) for kind in ("event", "link", "state")]
    return session.createDataFrame([(text, path) for text in [*lines, "bad"]], "value string, path string")


def table(session: SparkSession, to: Path) -> Table:
    return Table(session, Files(session), address(str(to)))


def test_one_that_wakes_up_while_another_does_its_batch_neither_takes_rows_away_nor_doubles_them(
    session: SparkSession, tmp_path: Path
) -> None:
    lines, to = batch(session), tmp_path / "to"
    asleep, awake = threading.Event(), threading.Event()
    refused: list[str] = []
    asked = []

    def falls_asleep() -> None:
        """Stop at the second call, when the rows are ready to be moved in and the lock was just checked."""
        asked.append("first")
        if len(asked) == 2:
            asleep.set()
            awake.wait()

    def first() -> None:
        try:
            table(session, to).add(lines, falls_asleep)
        except SparkJobError as error:
            refused.append(error.code)

    sleeper = threading.Thread(target=first)
    sleeper.start()
    asleep.wait()
    seen = []

    def wakes_it_up() -> None:
        seen.append("second")
        if len(seen) == 2:
            awake.set()
            sleeper.join()

    assert table(session, to).add(lines, wakes_it_up) == Added(3, 1, 0)
    assert refused == ["LOCK_LOST"]
    assert len(rows(session, to)) == 4


@pytest.mark.parametrize("call", [1, 2])
def test_who_has_lost_the_lock_touches_nothing(session: SparkSession, tmp_path: Path, call: int) -> None:
    of_another = tmp_path / "to" / "_ingest" / "other" / "new"
    asked = []

    def check() -> None:
        asked.append(1)
        if len(asked) == call:
            of_another.mkdir(parents=True)
            raise SparkJobError("It is lost.", "Start again.", "LOCK_LOST")

    with pytest.raises(SparkJobError, match="LOCK_LOST"):
        table(session, tmp_path / "to").add(batch(session), check)
    assert of_another.is_dir() and not list((tmp_path / "to").glob("kind=*"))


def test_a_batch_of_nothing_new_is_no_fault(session: SparkSession, tmp_path: Path) -> None:
    lines = batch(session)
    for added in (Added(3, 1, 0), Added(0, 0, 4)):
        assert table(session, tmp_path / "to").add(lines, lambda: None) == added
