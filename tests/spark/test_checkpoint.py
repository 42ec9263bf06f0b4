"""The checkpoint of a stream is deleted when most of its files are gone, and only then."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mesh.history import checkpoint
from mesh.history.files import Files, address, path_here
from mesh.history.ingest import ingest
from tests.spark.writing import line, segments

pytestmark = pytest.mark.spark


def test_what_is_remembered_is_forgotten_when_most_of_it_is_gone_and_nothing_counts_twice(
    session: SparkSession, tmp_path: Path
) -> None:
    source, to, files = tmp_path / "in", tmp_path / "to", Files(session)
    paths = [segments(source, [line("event")])[0] for _ in range(6)]
    assert ingest(session, [str(source)], str(to)).rows == 6
    where = checkpoint.place(address(str(to)), address(str(source))), address(str(source))
    assert not checkpoint.forget_what_is_gone(files, *where, many=5)  # no file is gone
    for path in paths[:5]:
        path.unlink()
    assert not checkpoint.forget_what_is_gone(files, *where, many=6)  # not more than `many` files
    assert checkpoint.forget_what_is_gone(files, *where, many=5)
    again = ingest(session, [str(source)], str(to))
    assert (again.rows, again.repeated) == (0, 1)


def test_what_spark_has_gathered_counts_once(tmp_path: Path, session: SparkSession) -> None:
    source, to, files = tmp_path / "in", tmp_path / "to", Files(session)
    source.mkdir()
    where = checkpoint.place(address(str(to)), address(str(source))), address(str(source))
    log = Path(path_here(where[0]), "sources", "0")
    log.mkdir(parents=True)
    entry = '{"path":"file:///x","timestamp":1,"batchId":0}\n'
    (log / "8").write_text("v1\n" + entry)
    (log / "9.compact").write_text("v1\n" + 10 * entry)
    (log / "10").write_text("v1\n" + entry)
    assert not checkpoint.forget_what_is_gone(files, *where, many=11)
    assert checkpoint.forget_what_is_gone(files, *where, many=10)
    assert not log.exists()
