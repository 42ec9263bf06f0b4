"""Ingest with a damaged checkpoint and on a full disk: no row is lost, and the error says what to do."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mesh.history.errors import SparkJobError
from mesh.history.ingest import ingest
from mesh.history.intake import Ingested
from tests.spark.comparing import rows
from tests.spark.writing import line, segments

pytestmark = pytest.mark.spark


def run(session: SparkSession, place: Path) -> Ingested:
    return ingest(session, [str(place / "in")], str(place / "to"))


# --- a damaged checkpoint ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of two batches, and its segments."""
    place = tmp_path_factory.mktemp("checkpoint")
    for kind in ("event", "link"):
        segments(place / "in", [line(kind)])
        run(session, place)
    return place


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("offsets/1", text) for text in ("damaged", "", "v1\n{")),
        ("metadata", ""),
        ("commits/1", "v1\n{"),
        ("sources/0/0", "damaged"),
    ],
)
def test_a_damaged_checkpoint_is_an_error_that_says_what_to_do(
    session: SparkSession, built: Path, name: str, text: str
) -> None:
    [checkpoint] = (built / "to" / "_checkpoint").iterdir()
    file = checkpoint / name
    right, checksum = file.read_text(), file.with_name(f".{file.name}.crc")
    checksum.unlink(missing_ok=True)
    file.write_text(text)
    try:
        with pytest.raises(
            SparkJobError, match=r"Delete file:.*/_checkpoint and start the job again"
        ) as caught:
            run(session, built)
    finally:
        file.write_text(right)
    assert caught.value.code == "CHECKPOINT"
    assert "WriteToMicroBatch" not in caught.value.what


# --- a full disk ------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB. Only root can mount it."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_has_a_name_and_when_there_is_room_again_nothing_is_lost(
    session: SparkSession, tmp_path: Path, small_disk: Path
) -> None:
    to = small_disk / "to"
    segments(tmp_path / "in", [line("event", text=os.urandom(512).hex()) for _ in range(400)])
    for _ in range(2):
        with pytest.raises(SparkJobError, match=r"Free space and start the job again.*\[DISK_FULL\]"):
            ingest(session, [str(tmp_path / "in")], str(to))
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    done = ingest(session, [str(tmp_path / "in")], str(to))
    assert (done.rows + done.repeated, done.segments) == (400, 1)  # some rows may have got in before
    ingest(session, [str(tmp_path / "in")], str(tmp_path / "undisturbed"))
    assert rows(session, to) == rows(session, tmp_path / "undisturbed")
