"""Ingest: each line gets into the history once."""

import json
import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mesh.history.batch import Added, Table
from mesh.history.errors import SparkJobError
from mesh.history.files import Files, address
from mesh.history.ingest import Ingest, ingest
from mesh.history.intake import Ingested
from mesh.history.lines import TABLE, unknown
from mesh.history.lock import locked
from mesh.history.reading import history
from tests.spark.comparing import rows
from tests.spark.writing import START, line, segments
from tests.waiting import until

pytestmark = pytest.mark.spark

NODES = ("heron", "stork", "egret")


def said(done: Ingested) -> tuple[int, int, int]:
    return done.rows, done.repeated, done.quarantined


def of_kind(session: SparkSession, to: Path, kind: str) -> list[dict[str, Any]]:
    found = history(session, str(to)).where(F.col("kind") == kind).collect()
    return [row.asDict() for row in found]


def heard_by_all(version: int, **fields: Any) -> list[dict[str, Any]]:
    """Return a state of egret as three nodes wrote it down."""
    return [line("state", observer=observer, node="egret", version=version, **fields) for observer in NODES]


def test_a_state_of_three_observers_is_one_row_of_what_its_owner_said(
    session: SparkSession, tmp_path: Path
) -> None:
    wall = START + timedelta(seconds=2)
    segments(tmp_path / "in", heard_by_all(7, wall=wall, cpu=12.5))
    assert said(ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))) == (1, 2, 0)
    [row] = of_kind(session, tmp_path / "to", "state")
    assert (row["node"], row["version"], row["cpu"], row["ts"]) == ("egret", 7, 12.5, row["wall"])
    assert (row["observer"], row["line"], row["age"], row["segment"]) == (None, None, None, None)


def test_a_second_time_adds_nothing_and_what_comes_later_is_added_once(
    session: SparkSession, tmp_path: Path
) -> None:
    source, to = tmp_path / "in", tmp_path / "to"
    segments(
        source, [*heard_by_all(1), line("event"), line("link"), line("queue"), line("balance"), line("topic")]
    )
    assert said(ingest(session, [str(source)], str(to))) == (6, 2, 0)
    before = rows(session, to)
    assert said(ingest(session, [str(source)], str(to))) == (0, 0, 0)
    assert rows(session, to) == before
    late = [line("event", ts=START - timedelta(days=2)), *heard_by_all(1), *heard_by_all(2)]
    segments(source, late)
    assert said(ingest(session, [str(source)], str(to))) == (2, 5, 0)


def test_the_same_lines_in_another_place_are_no_news(session: SparkSession, tmp_path: Path) -> None:
    segments(tmp_path / "in", [*heard_by_all(1), line("event")])
    shutil.copytree(tmp_path / "in", tmp_path / "copy")
    places = [str(tmp_path / "in"), str(tmp_path / "copy"), str(tmp_path / "in")]
    assert said(ingest(session, places, str(tmp_path / "to"))) == (2, 6, 0)


def test_clocks_that_are_wrong_lose_nothing(session: SparkSession, tmp_path: Path) -> None:
    times = [START + timedelta(hours=hours) for hours in (-5, 0, 5)]
    times += [datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), datetime(2099, 12, 31, 23, tzinfo=UTC)]
    segments(tmp_path / "in", [line("event", ts=ts) for ts in times])
    segments(tmp_path / "in", [line("state", ts=START, wall=ts, version=n) for n, ts in enumerate(times)])
    assert ingest(session, [str(tmp_path / "in")], str(tmp_path / "to")).rows == 10
    for kind in ("event", "state"):
        assert len(of_kind(session, tmp_path / "to", kind)) == 5
    assert (tmp_path / "to" / "kind=state" / "date=2099-12-31" / "hour=23").is_dir()


BAD = {
    b'{"kind":"state"': "not JSON",
    b"\x00\xff\xfe\x01": "not JSON",
    b"[1, 2]": "no JSON object",
    b'"heron"': "no JSON object",
    json.dumps(line("event") | {"line": "seven"}).encode(): "wrong type: line",
    json.dumps(line("event") | {"ts": "yesterday"}).encode(): "ts is not a time: yesterday",
    json.dumps(line("event", node=None)).encode(): "missing: node",
    json.dumps(line("state", version=None)).encode(): "missing: version",
    json.dumps(line("event") | {"kind": "gossip"}).encode(): "unknown kind: gossip",
    json.dumps(line("state", cpu=101.0)).encode(): "cpu is out of its range: 101.0",
    json.dumps(line("state", load=-0.5)).encode(): "load is out of its range: -0.5",
    json.dumps(line("balance", sent=-1)).encode(): "sent is out of its range: -1",
}


def test_a_bad_line_is_in_quarantine_with_its_reason_and_the_others_count(
    session: SparkSession, tmp_path: Path
) -> None:
    [path] = segments(tmp_path / "in", [line("event"), line("event")])
    path.write_bytes(path.read_bytes() + b"\n".join(BAD) + b"\n")
    done = ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))
    assert said(done) == (2, 0, len(BAD))
    found = of_kind(session, tmp_path / "to", "quarantine")
    assert {row["reason"] for row in found} == set(BAD.values())
    assert {row["segment"] for row in found} == {path.name}
    readable = {row["raw"]: row["reason"] for row in found}
    for raw, reason in BAD.items():
        if raw.isascii():
            assert readable[raw.decode()] == reason
    assert len(of_kind(session, tmp_path / "to", "event")) == 2


def test_empty_unfinished_and_foreign_files_are_passed_over(session: SparkSession, tmp_path: Path) -> None:
    [path] = segments(tmp_path / "in", [line("event")])
    (path.parent / f"_{path.name}".replace("-1.", "-2.")).write_text(json.dumps(line("event")) + "\n")
    (path.parent / path.name.replace("-1.jsonl", "-3.jsonl")).write_text("")
    (path.parent / "notes.txt").write_text("not ours\n")
    (path.parent / "picture.png").write_bytes(bytes(range(256)))
    assert said(ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))) == (1, 0, 0)


def test_the_marker_tells_the_nodes_what_they_need_not_keep(session: SparkSession, tmp_path: Path) -> None:
    paths = [segments(tmp_path / "in", [line("event")])[0] for _ in range(3)]
    ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))
    run = paths[0].name.rpartition("-")[0]
    assert json.loads((tmp_path / "in" / "_ingested.json").read_text()) == {run: [[1, 3]]}
    (tmp_path / "in" / "_ingested.json").write_text("{damaged")
    segments(tmp_path / "in", [line("event")])
    ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))
    assert json.loads((tmp_path / "in" / "_ingested.json").read_text()) == {run: [[4, 4]]}


def test_nothing_to_read_is_an_error_that_says_so(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SparkJobError, match=r"No snapshots exist in .*NO_SNAPSHOTS"):
        ingest(session, [str(tmp_path / "nowhere")], str(tmp_path / "to"))
    assert list(tmp_path.iterdir()) == []


def test_two_at_the_same_time_are_one_too_many(session: SparkSession, tmp_path: Path) -> None:
    segments(tmp_path / "in", [line("event")])
    to = str(tmp_path / "to")
    with locked(Files(session), address(to)), pytest.raises(SparkJobError, match=r"Another job.*IN_USE"):
        ingest(session, [str(tmp_path / "in")], to)


def test_a_segment_that_is_deleted_before_it_is_read_takes_no_other_with_it(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, _ = segments(tmp_path / "in", [line("event"), line("event", observer="stork")])
    add = Table.add

    def too_late(table: Table, lines: DataFrame, check: Callable[[], None]) -> Added:
        gone.unlink(missing_ok=True)
        return add(table, lines, check)

    monkeypatch.setattr(Table, "add", too_late)
    assert said(ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))) == (1, 0, 0)


def test_a_stream_goes_on_until_it_is_stopped(session: SparkSession, tmp_path: Path) -> None:
    source, to = tmp_path / "in", tmp_path / "to"
    segments(source, [line("event")])
    job = Ingest(session, [str(source)], str(to))
    done: list[Ingested] = []
    thread = threading.Thread(target=lambda: done.append(job.again_and_again(0.5)))
    thread.start()
    try:
        until(lambda: (source / "_ingested.json").exists())
        segments(source, [line("link")])
        until(lambda: (to / "kind=link").is_dir())
    finally:
        job.stop()
        thread.join()
    assert done and said(done[0]) == (2, 0, 0)
    assert said(ingest(session, [str(source)], str(to))) == (0, 0, 0)


def test_a_stream_waits_for_places_that_are_not_there_and_outlives_those_that_go(
    session: SparkSession, tmp_path: Path
) -> None:
    early, late, to = tmp_path / "early", tmp_path / "late", tmp_path / "to"
    told: list[str] = []
    job = Ingest(session, [str(early), str(late)], str(to), tell=told.append)
    done: list[Ingested] = []
    thread = threading.Thread(target=lambda: done.append(job.again_and_again(0.5)))
    thread.start()
    try:
        until(lambda: len(told) == 2)
        segments(early, [line("event")])
        until(lambda: (early / "_ingested.json").exists())
        segments(late, [line("link")])
        until(lambda: (to / "kind=link").is_dir())
        shutil.rmtree(early)
        until(lambda: len(told) == 3)
        segments(late, [line("queue")])
        until(lambda: (to / "kind=queue").is_dir())
    finally:
        job.stop()
        thread.join()
    assert done and said(done[0]) == (3, 0, 0)
    assert told == [f"{address(str(place))} does not exist." for place in (early, late, early)]


def test_what_is_known_needs_not_fit_into_memory(session: SparkSession, tmp_path: Path) -> None:
    session.createDataFrame([], TABLE).write.parquet(str(tmp_path / "to"))
    there = session.read.schema(TABLE).parquet(str(tmp_path / "to"))
    plan = unknown(there, there)._jdf.queryExecution().executedPlan().toString()
    assert "SortMergeJoin" in plan and "Broadcast" not in plan


def test_a_file_that_is_too_large_is_told_in_quarantine_and_the_others_count(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesh.history.segments.LARGE", 10_000)
    segments(tmp_path / "in", [line("event", observer="stork")])
    [large] = segments(tmp_path / "in", [line("event", text="x" * 100) for _ in range(100)])
    assert said(ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))) == (1, 0, 1)
    [row] = of_kind(session, tmp_path / "to", "quarantine")
    assert (row["segment"], row["raw"]) == (large.name, None)
    assert row["reason"] == "the file is too large to be a segment"


def test_a_fault_of_ours_in_a_batch_comes_out_as_it_is(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(table: Table, lines: DataFrame, check: Callable[[], None]) -> Added:
        raise ZeroDivisionError("one of ours")

    monkeypatch.setattr(Table, "add", faulty)
    segments(tmp_path / "in", [line("event")])
    with pytest.raises(ZeroDivisionError, match="one of ours"):
        ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))
