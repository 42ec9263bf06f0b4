"""Copies of a SQLite file: of an open store, and of a file that no process uses."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from mesh.errors import StoreError

_PAGES_AT_ONCE = 512  # of a copy, between two calls of `meanwhile`


def copy_file(source: Path, path: Path) -> None:
    """Copy a store file, written by any release, while no node has it open. Raises: StoreError."""
    place = f"{source.absolute().as_uri()}?mode=rw"  # a missing file is not created
    try:
        with contextlib.closing(sqlite3.connect(place, timeout=0, isolation_level=None, uri=True)) as db:
            copy_database(db, path, lambda: None)
    except sqlite3.Error as error:
        hint = "Check that the file exists, that this user may read it, and that its disk works."
        raise StoreError(f"{source} cannot be copied: {error}.", hint=hint) from error


def copy_database(source: sqlite3.Connection, path: Path, meanwhile: Callable[[], None]) -> None:
    """Copy an open database durably into a new file, as `SQLiteStore.copy` does. Raises: StoreError."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as copy:
            copy.execute("PRAGMA synchronous=FULL")
            source.backup(copy, pages=_PAGES_AT_ONCE, progress=_progress(meanwhile), sleep=0)
            # The copied header claims a log beside it, which a reader of the lone file may be unable to
            # create.
            copy.execute("PRAGMA journal_mode=DELETE").fetchone()
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"The copy to {path} failed: {error}.",
            hint="Check that the file does not exist yet, that its directory has space, and that the store "
            "can be read.",
        ) from error


def _progress(meanwhile: Callable[[], None]) -> Callable[[int, int, int], None]:
    def progress(status: int, left: int, pages: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):  # `backup` would try again without end
            raise sqlite3.OperationalError("another process has locked the store")
        meanwhile()

    return progress
