"""Files of a history: creation by one of several jobs, unreadable files, and power cuts."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from mesh.history.files import Files, address

pytestmark = pytest.mark.spark

AT_ONCE, TIMES = 4, 100


@pytest.fixture
def files(session: SparkSession) -> Files:
    return Files(session)


def test_of_several_that_make_a_file_at_the_same_time_one_succeeds(files: Files, tmp_path: Path) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for number in range(TIMES):
            place = address(str(tmp_path / str(number)))
            made = list(threads.map(files.create, [place] * AT_ONCE, map(str, range(AT_ONCE))))
            assert sorted(made) == [False] * (AT_ONCE - 1) + [True]
            assert files.read(place) == str(made.index(True))


def test_a_directory_that_cannot_be_made_is_no_file_that_is_there(files: Files, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="File exists"):
        files.create(address(str(tmp_path / "file" / "_lock")), "x")


def test_what_is_there_and_cannot_be_read_is_not_taken_for_nothing(files: Files, tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    assert files.read(address(str(tmp_path / "nothing"))) is None
    with pytest.raises(Py4JJavaError, match="FileNotFoundException"):  # as Java says without permission
        files.read(address(str(tmp_path / "directory")))


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that are synced to the disk and the renames, in order."""
    told: list[str] = []
    fsync, rename = os.fsync, os.replace

    def settled(descriptor: int) -> None:
        told.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def renamed(source: str, target: str) -> None:
        told.append("renamed")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", settled)
    monkeypatch.setattr(os, "replace", renamed)
    return told


def test_after_a_power_cut_there_is_the_old_file_or_the_whole_new_one(
    files: Files, tmp_path: Path, done: list[str]
) -> None:
    for text in ("old", "new"):
        done.clear()
        files.replace_file(address(str(tmp_path / "plan.json")), text)
        at = done.index("renamed")
        assert ".plan.json.new" in done[:at] and tmp_path.name in done[at:]
        assert (tmp_path / "plan.json").read_text() == text


def test_new_directories_outlast_a_power_cut_with_their_files(
    files: Files, tmp_path: Path, done: list[str]
) -> None:
    (tmp_path / "date=x" / "hour=1").mkdir(parents=True)
    (tmp_path / "date=x" / "hour=1" / "a").write_text("")
    files.settle(address(str(tmp_path)), ["date=x/hour=1/a"])
    assert sorted(done) == sorted([tmp_path.name, "date=x", "hour=1", "a"])
