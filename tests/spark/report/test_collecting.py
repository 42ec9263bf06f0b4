"""A generated history passes ingest and all views unchanged."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tools.benchmarks.loads import spark_job
from tools.generating.history import History, Wish

pytestmark = [pytest.mark.slow, pytest.mark.spark]

LINES, BEGIN = 3_000, 1_795_000_000_000_000  # µs since 1970


def test_a_few_lines_come_through_as_they_were_written(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Run the job of the benchmark, which compares the result with the written lines.

    Neither ingest nor a view needs Python on an executor: there is none.
    """
    monkeypatch.setattr(session.sparkContext, "pythonExec", "/nowhere/python")
    place = tmp_path / "segments"
    made = History(Wish(5, LINES, BEGIN, 7, place, place, lines=LINES))
    made.run()
    (tmp_path / "truth.json").write_text(json.dumps(made.summary()))
    monkeypatch.setattr(spark_job, "session", lambda *_: session)
    found = spark_job.main(str(tmp_path), "1g")
    assert found["wrong"] == []
    assert found["ingest"] > 0 and found["by view"].keys() > {"contents"}
