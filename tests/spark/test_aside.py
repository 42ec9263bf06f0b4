"""Setting aside one damaged file of a history: no other file moves, and its rows are read again."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mesh.history.aside import part_of, set_aside
from mesh.history.errors import SparkJobError
from mesh.history.files import Files, address
from mesh.history.ingest import ingest
from tests.spark.comparing import rows
from tests.spark.writing import line, segments

PART = "kind=state/date=2026-01-02/hour=03/part-0.parquet"


@pytest.mark.parametrize("part", [PART, f"_compact/0123abcd/{PART}"])
def test_a_file_of_the_table_is_found_below_its_place(part: str) -> None:
    assert part_of("file:///srv/history", f"/srv/history/{part}") == part
    assert part_of("s3a://b/history", f"s3a://b/history/{part}") == part


@pytest.mark.parametrize(
    "file",
    [
        "/srv/other/" + PART,
        "/srv/history/../" + PART,
        "/srv/history/_checkpoint/1",
        "/srv/history/kind=state/x.parquet",
        f"/srv/history/{PART}/..",
        "/srv/history/" + PART.removesuffix(".parquet"),
    ],
)
def test_no_other_file_is_set_aside(file: str) -> None:
    with pytest.raises(SparkJobError, match="NO_SUCH_FILE"):
        part_of("file:///srv/history", file)


@pytest.mark.spark
def test_a_damaged_file_is_named_and_set_aside_and_its_rows_come_back(
    session: SparkSession, tmp_path: Path
) -> None:
    source, to, files = tmp_path / "in", tmp_path / "my history", Files(session)
    segments(source, [line("event"), line("link")])
    ingest(session, [str(source)], str(to))
    before = rows(session, to)
    place = address(str(to))
    [damaged] = to.glob("kind=event/*/*/*.parquet")
    part = part_of(place, str(damaged))
    with pytest.raises(SparkJobError, match="NOT_DAMAGED"):
        set_aside(session, files, place, part, lambda: None)
    content = damaged.read_bytes()
    damaged.write_bytes(content[: len(content) // 2])
    segments(source, [line("event")])  # a line of the same hour
    with pytest.raises(SparkJobError) as caught:
        ingest(session, [str(source)], str(to))
    assert caught.value.code == "DAMAGED_FILE"
    assert str(damaged) in caught.value.what and f"set-aside '{damaged}' --to '{to}'" in caught.value.hint
    kept = set_aside(session, files, place, part, lambda: None)
    assert (
        not damaged.exists()
        and Path(kept.removeprefix("file://")).read_bytes() == content[: len(content) // 2]
    )
    assert ingest(session, [str(source)], str(to)).rows == 2  # the lost row and the new one
    assert set(before) <= set(rows(session, to)) and len(rows(session, to)) == 3
