"""Half-copied segments are read on when they have grown, and links among segments are not followed."""

import gzip
import json
import os
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mesh.history import unfinished
from mesh.history.ingest import Ingest, ingest
from mesh.history.reading import history
from tests.spark.test_ingest import of_kind, said
from tests.spark.writing import line, segments
from tests.waiting import until

pytestmark = pytest.mark.spark

YEAR = 365 * 86_400


@pytest.fixture
def whole(tmp_path: Path) -> tuple[Path, bytes]:
    """A segment of twelve lines, and its content."""
    [path] = segments(tmp_path / "in", [line("event") for _ in range(12)])
    return path, path.read_bytes()


def cut(content: bytes, lines: int, more: int = 0) -> bytes:
    """Return the first `lines` lines of a segment and `more` bytes of the next one."""
    return content[: len(b"".join(content.splitlines(keepends=True)[:lines])) + more]


def test_trial_B8_segments_that_are_half_copied_are_read_on_and_no_line_of_them_is_lost(
    session: SparkSession, tmp_path: Path
) -> None:
    """Segments are cut after a whole line, after one byte of the next line, within it, and before its end.

    Only files that look whole are marked: the first and the last one.
    """
    whole: dict[Path, bytes] = {}
    for more in (0, 1, 20, -1):
        [path] = segments(tmp_path / "in", [line("event") for _ in range(12)])
        whole[path] = path.read_bytes()
        path.write_bytes(cut(whole[path], 7, more))
    told: list[str] = []
    first = ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"), tell=told.append)
    assert said(first) == (28, 0, 0) and told == []
    [run] = {path.name.rpartition("-")[0] for path in whole}
    marker = tmp_path / "in" / "_ingested.json"
    assert json.loads(marker.read_text()) == {run: [[1, 1], [4, 4]]}
    for path, content in whole.items():
        path.write_bytes(content)
        os.utime(path, (0, path.stat().st_mtime - YEAR))  # cp -p sets this time last
    second = ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"), tell=told.append)
    assert said(second) == (20, 28, 0)
    assert sorted(told) == sorted(f"file://{path} was incomplete and is read again." for path in whole)
    assert len(of_kind(session, tmp_path / "to", "event")) == 48
    assert history(session, str(tmp_path / "to")).count() == 48  # nothing in quarantine
    assert json.loads(marker.read_text()) == {run: [[1, 4]]}


def test_trial_B8_the_torn_end_of_a_file_that_does_not_grow_is_a_bad_line_in_the_end(
    session: SparkSession, tmp_path: Path, whole: tuple[Path, bytes]
) -> None:
    """A last line that lacks only its line break is read."""
    path, content = whole
    path.write_bytes(cut(content, 7, 20))
    os.utime(path, (0, path.stat().st_mtime - YEAR))
    [other] = segments(tmp_path / "in", [line("event"), line("event")])
    other.write_bytes(other.read_bytes()[:-1])
    assert said(ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))) == (9, 0, 1)


def test_trial_B8_a_stream_that_goes_on_reads_on_too(
    session: SparkSession, tmp_path: Path, whole: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesh.history.ingest.QUIET", 0.2)
    path, content = whole
    path.write_bytes(cut(content, 7, 20))
    told: list[str] = []
    job = Ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"), tell=told.append)
    thread = threading.Thread(target=lambda: job.again_and_again(0.5))
    thread.start()
    try:
        until(lambda: (tmp_path / "to" / unfinished.NAME).exists())
        path.write_bytes(content)
        until(lambda: (tmp_path / "in" / "_ingested.json").exists())
        compressed = path.with_name(path.name.replace("-1.jsonl", "-2.jsonl.gz"))
        compressed.write_bytes(gzip.compress(json.dumps(line("link")).encode() + b"\n"))
        until(lambda: (tmp_path / "to" / "kind=link").is_dir())
    finally:
        job.stop()
        thread.join()
    assert len(told) == 1 and told[0].startswith(f"file://{path} was incomplete")
    assert len(of_kind(session, tmp_path / "to", "event")) == 12


def test_trial_B8_compressed_segments_are_read_and_are_the_same_as_others(
    session: SparkSession, tmp_path: Path, whole: tuple[Path, bytes]
) -> None:
    path, content = whole
    content += b"not a line\n"
    path.write_bytes(content)
    assert said(ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))) == (12, 0, 1)
    path.unlink()
    compressed = path.with_name(f"{path.name}.gz")
    compressed.write_bytes(gzip.compress(content + json.dumps(line("link")).encode() + b"\n"))
    assert said(ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))) == (1, 13, 0)
    assert said(ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))) == (0, 0, 0)


def test_trial_B8_a_compressed_segment_that_is_half_copied_stops_nobody_and_is_read_on(
    session: SparkSession, tmp_path: Path, whole: tuple[Path, bytes]
) -> None:
    path, content = whole
    segments(tmp_path / "in", [line("link")])
    packed = gzip.compress(content + os.urandom(50_000).hex().encode() + b"\n")
    path.unlink()
    compressed = path.with_name(f"{path.name}.gz")
    compressed.write_bytes(packed[: len(packed) // 2])
    ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))
    assert len(of_kind(session, tmp_path / "to", "link")) == 1
    compressed.write_bytes(packed)
    ingest(session, [str(tmp_path / "in")], str(tmp_path / "to"))
    assert len(of_kind(session, tmp_path / "to", "event")) == 12


def test_trial_A7_links_out_of_the_snapshots_and_around_in_them_are_not_followed(
    session: SparkSession, tmp_path: Path
) -> None:
    source, elsewhere = tmp_path / "in", tmp_path / "private"
    [mine] = segments(source, [line("event")])
    [secret] = segments(elsewhere, [line("link")])
    (tmp_path / "passwd").write_text("root:x:0:0\n")
    (mine.parent / "heron-00000000-1-7.jsonl").symlink_to(tmp_path / "passwd")
    (mine.parent / "heron-00000000-1-8.jsonl").symlink_to(secret)
    (source / "date=2026-01-02" / "out there").symlink_to(elsewhere)
    (source / "loop").symlink_to(source)
    (tmp_path / "link").symlink_to(source)  # a given place may itself be a link
    told: list[str] = []
    made = ingest(session, [str(tmp_path / "link")], str(tmp_path / "to"), tell=told.append)
    assert said(made) == (1, 0, 0)
    assert len(told) == 4 and all("is a link and is not followed" in text for text in told)
