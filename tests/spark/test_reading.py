"""Reading a history: exactly the requested lines, also of older and newer releases."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mesh.history import compaction
from mesh.history.errors import SparkJobError
from mesh.history.files import Files, address
from mesh.history.ingest import ingest
from mesh.history.reading import history
from mesh.history.schema import COLUMNS
from tests.spark.writing import START, line, segments

pytestmark = pytest.mark.spark

HOURS = (0, 1, 4, 5, 6, 19, 20, 21, 22, 28, 29)  # hours after START, which is at 03:00


@pytest.fixture(scope="module")
def place(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history with topics whose `messages` are their hours after START, and one bad line at START."""
    root = tmp_path_factory.mktemp("reading")
    paths = segments(root / "in", [line("topic", ts=START + timedelta(hours=n), messages=n) for n in HOURS])
    with paths[0].open("a") as file:
        file.write("bad\n")
    ingest(session, [str(root / "in")], str(root / "to"))
    return root / "to"


def hours(rows: DataFrame) -> list[int]:
    return sorted(row[0] for row in rows.where(F.col("kind") == "topic").select("messages").collect())


def test_it_has_all_columns_of_the_lines_and_those_of_ingest(session: SparkSession, place: Path) -> None:
    found = history(session, str(place)).columns
    assert sorted(found) == sorted([*COLUMNS, "segment", "reason", "raw", "date", "hour"])


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (None, None, HOURS),
        (5, None, HOURS[3:]),
        (4.5, None, HOURS[3:]),
        (None, 5, HOURS[:3]),
        (None, 5.5, HOURS[:4]),
        (20, 22, (20, 21)),  # across midnight
        (100, None, ()),
    ],
)
def test_since_is_from_then_on_and_until_is_before(
    session: SparkSession, place: Path, since: float | None, until: float | None, expected: tuple[int, ...]
) -> None:
    ends = [None if end is None else START + timedelta(hours=end) for end in (since, until)]
    assert hours(history(session, str(place), *ends)) == list(expected)


def test_only_hours_that_were_asked_for_are_opened(session: SparkSession, place: Path) -> None:
    rows = history(session, str(place), START + timedelta(hours=20), START + timedelta(hours=21, minutes=30))
    plan = rows._jdf.queryExecution().executedPlan().toString()
    assert "PartitionFilters: [" in plan and "PartitionFilters: []" not in plan
    files = rows.select(F.col("_metadata.file_path")).distinct().collect()
    assert {path.split("/")[-2] for [path] in files} == {"hour=23", "hour=00"}


def test_bad_lines_count_for_the_hour_of_their_segment(session: SparkSession, place: Path) -> None:
    def bad(since: datetime) -> int:
        return history(session, str(place), since).where(F.col("kind") == "quarantine").count()

    assert bad(START + timedelta(minutes=59)) == 1
    assert bad(START + timedelta(hours=1)) == 0


def test_an_hour_is_one_of_utc_whatever_the_zone_of_the_question(session: SparkSession, place: Path) -> None:
    since = (START + timedelta(hours=28)).astimezone()
    assert hours(history(session, str(place), since)) == [28, 29]


def test_no_history_is_an_error_that_says_what_to_type(session: SparkSession, tmp_path: Path) -> None:
    for nothing in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(SparkJobError, match=r"mesh ingest.*\[NO_HISTORY\]"):
            history(session, str(nothing))


def test_a_name_that_spark_takes_for_a_pattern_is_refused(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SparkJobError, match=r"as wildcards.*\[BAD_PLACE\]"):
        history(session, str(tmp_path / "history-*"))


# --- histories of other releases ------------------------------------------------------------------------


@pytest.fixture
def other(place: Path, tmp_path: Path) -> Path:
    """A copy of the history, for tests that change it."""
    return Path(shutil.copytree(place, tmp_path / "to"))


def test_a_column_that_an_older_release_did_not_write_is_null(session: SparkSession, other: Path) -> None:
    topics = other / "kind=topic" / "date=2026-01-02"
    session.read.parquet(str(topics / "hour=03")).drop("content", "boot").write.parquet(
        str(topics / "hour=02")
    )
    [row] = history(session, str(other)).where("date = '2026-01-02' AND hour = 2").collect()
    assert (row["content"], row["boot"], row["messages"], row["topic"]) == (None, None, 0, "weather/berlin")


def test_a_column_of_a_newer_release_does_no_harm_and_outlives_compaction(
    session: SparkSession, other: Path, tmp_path: Path
) -> None:
    part, many = other / "kind=topic" / "date=2026-01-02" / "hour=03", compaction.FEW + 1
    row = session.read.parquet(str(part))
    for mood in range(many):
        row.withColumn("mood", F.lit(mood)).coalesce(1).write.parquet(str(tmp_path / f"{mood}"))
    for file in tmp_path.glob("[0-9]/*.parquet"):
        file.rename(part / file.name)
    before = sorted([*HOURS, *[0] * many])
    assert "mood" not in history(session, str(other)).columns
    assert hours(history(session, str(other))) == before
    assert compaction.compact(session, Files(session), address(str(other)), lambda: None) == many
    assert hours(history(session, str(other))) == before
    moods = session.read.parquet(str(part)).select("mood").collect()
    assert sorted(mood for [mood] in moods if mood is not None) == list(range(many))
