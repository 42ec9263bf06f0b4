"""Reading a history over Spark Connect, without a JVM on this side."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkAttributeError
from pyspark.sql import SparkSession

from mesh.history import compaction
from mesh.history.connect import ServerFiles
from mesh.history.errors import SparkJobError
from mesh.history.files import Files, address, is_remote
from mesh.history.ingest import ingest
from mesh.history.reading import history
from tests.spark.comparing import rows
from tests.spark.writing import line, segments


class Remote:
    """A stand-in for a session of Spark Connect, which refuses all that needs a JVM."""

    def __getattr__(self, name: str) -> Any:
        raise PySparkAttributeError(
            errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": name}
        )


def test_an_ingest_over_connect_says_what_it_needs() -> None:
    remote: Any = Remote()
    assert is_remote(remote)
    with pytest.raises(SparkJobError, match=r"a session with its own JVM.*\[CONNECT\]"):
        ingest(remote, ["/srv/snapshots"], "/srv/history")


@pytest.mark.spark
def test_reading_over_connect_finds_the_rows_that_a_session_with_a_jvm_finds(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, to = tmp_path / "in", tmp_path / "my history"
    place, files, server = address(str(to)), Files(session), ServerFiles(session)
    assert not is_remote(session)
    for _ in range(2):
        segments(source, [line("event")])
        ingest(session, [str(source)], str(to))
    before = rows(session, to)
    assert server.find(place, compaction.FILES) == files.find(place, compaction.FILES)
    assert (
        server.find(place, "kind=*") == ["kind=event"] and server.read(f"{place}/{compaction.PLAN}") is None
    )
    # A compaction was killed: its plan is in force, and no file has moved yet.
    chosen = compaction.parts(files, place)
    beside = compaction.rewrite(session, files, place, chosen)
    compaction.plan(files, place, chosen, beside)
    assert server.read(f"{place}/{compaction.PLAN}") == files.read(f"{place}/{compaction.PLAN}")
    monkeypatch.setattr("mesh.history.reading.is_remote", lambda session: True)
    assert rows(session, to) == before and len(before) == 2
    with pytest.raises(SparkJobError, match="NO_HISTORY"):
        history(session, str(tmp_path / "nowhere"))
