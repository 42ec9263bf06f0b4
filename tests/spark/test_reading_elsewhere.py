"""Programs without Spark read the table, and none of the files that ingest keeps beside it."""

import re
from pathlib import Path

import duckdb
import pytest

from mesh.history import batch, checkpoint, compaction, unfinished
from tests.pages import SPARK, blocks

PART = "kind={}/date=2026-01-02/hour=03"
OLD, NEW = "'heron' AS node", "'egret' AS node, 1.5 AS cpu"  # the columns of two releases


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Return a history as ingest leaves it when it is killed: with bookkeeping, and rows not moved in yet."""
    beside = [f"{folder}/x/new/{PART.format('state')}" for folder in (batch.STAGE, compaction.STAGE)]
    table = {PART.format("event"): NEW, PART.format("link"): OLD, PART.format("state"): NEW}
    for folder, columns in [*table.items(), *((folder, "'stray' AS node") for folder in beside)]:
        place = tmp_path / folder
        place.mkdir(parents=True)
        duckdb.execute(f"COPY (SELECT {columns}) TO '{place}/part-0.parquet'")
        (place / ".part-0.parquet.crc").write_bytes(b"crc")
    (tmp_path / checkpoint.FOLDER / "x").mkdir(parents=True)
    for file in (f"{checkpoint.FOLDER}/x/metadata", unfinished.NAME, compaction.DONE, "_lock"):
        (tmp_path / file).write_text("{}")
    return tmp_path


def pattern(library: str) -> str:
    """Return the pattern of files that the page gives for a library, below the history."""
    [text] = [block.text for block in blocks("python", [SPARK]) if f"import {library}\n" in block.text]
    [found] = re.findall(r'"/srv/mesh/history/(\S+)"', text)
    return str(found)


def test_polars_reads_the_table_by_the_pattern_of_the_page(history: Path) -> None:
    polars = pytest.importorskip("polars")
    assert pattern("polars") == compaction.FILES
    with pytest.raises(polars.exceptions.PolarsError):  # the page names a pattern for this reason
        polars.scan_parquet(history).collect()
    rows = polars.scan_parquet(
        f"{history}/{pattern('polars')}",
        hive_partitioning=True,
        missing_columns="insert",
        extra_columns="ignore",
    )
    found = rows.select("kind", "node", "cpu", "hour").sort("kind").collect().rows()
    assert found == [("event", "egret", 1.5, 3), ("link", "heron", None, 3), ("state", "egret", 1.5, 3)]


def test_duckdb_reads_the_table_by_the_same_pattern(history: Path) -> None:
    found = duckdb.execute(
        f"SELECT kind, node FROM read_parquet('{history}/{compaction.FILES}', union_by_name = true)"
    ).fetchall()
    assert sorted(found) == [("event", "egret"), ("link", "heron"), ("state", "egret")]
