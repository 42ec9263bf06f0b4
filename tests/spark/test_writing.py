"""A page is written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from mesh.history.errors import SparkJobError
from mesh.history.writing import check, write


def test_the_page_takes_the_place_of_an_older_one_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    page = tmp_path / "mesh.html"
    write(page, "old", "--html")
    write(page, "new ü", "--html")
    assert page.read_text(encoding="utf-8") == "new ü"
    assert [path.name for path in tmp_path.iterdir()] == ["mesh.html"]


def test_a_full_disk_leaves_the_older_one_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    page = tmp_path / "mesh.html"
    write(page, "old", "--html")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        SparkJobError, match=r"mesh.html cannot be written: No space left on device"
    ) as caught:
        write(page, "new", "--html")
    assert (caught.value.code, page.read_text()) == ("CANNOT_WRITE", "old")
    assert len(list(tmp_path.iterdir())) == 1


def test_that_it_could_not_be_written_is_known_before_the_job_begins(tmp_path: Path) -> None:
    check(tmp_path / "mesh.html", "--html")
    with pytest.raises(SparkJobError, match="it is a directory"):
        check(tmp_path, "--html")
    with pytest.raises(SparkJobError, match="the directory does not exist"):
        check(tmp_path / "nowhere" / "mesh.html", "--html")
