"""Copies of a SQLite file that no process uses, or that another one has locked."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mesh.errors import StoreError
from mesh.store.sqlite import SQLiteStore
from mesh.store.sqlite_copy import copy_file


def test_a_file_that_is_not_there_is_neither_copied_nor_made(tmp_path: Path) -> None:
    source = tmp_path / "queues? 1%.sqlite"
    with pytest.raises(StoreError, match="cannot be copied"):
        copy_file(source, tmp_path / "copy")
    assert not [*tmp_path.iterdir()]
    SQLiteStore(source).close()
    copy_file(source, tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_size


def test_a_locked_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    source = tmp_path / "queues.sqlite"
    SQLiteStore(source).close()
    with closing(sqlite3.connect(source, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="locked"):
            copy_file(source, tmp_path / "copy")
