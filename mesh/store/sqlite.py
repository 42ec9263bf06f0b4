"""How does a node's memory survive its end? One SQLite file, and the only code that knows SQLite."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from mesh.errors import StoreError, StoreFull
from mesh.store.base import Image, Op
from mesh.store.change import Change, fold
from mesh.store.integrity import Audit
from mesh.store.sqlite_rows import SCHEMA, VERSION, read_image, read_next_position, write_change

_PAGE = 4096  # bytes by which a touched row makes the write-ahead log grow, roughly
_CHECKPOINT = 8 * 1024 * 1024  # bytes in the write-ahead log after which they move into the file

_PRAGMAS = (
    # One process owns the file. It also keeps the index of the log in memory, where no disk can fail it.
    "PRAGMA locking_mode=EXCLUSIVE",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA fullfsync=1",
    # SQLite swallows the errors of its own checkpoints; ours must be seen.
    "PRAGMA wal_autocheckpoint=0",
    f"PRAGMA journal_size_limit={2 * _CHECKPOINT}",
)

# SQLite quotes a damaged schema in its error, and then Python cannot read the words as UTF-8.
_FAILURES = (sqlite3.Error, UnicodeDecodeError)


class SQLiteStore:
    """Keeps the law of a store in one file. Used by one thread at a time, not always the same.

    Opening raises StoreError: STORE_IN_USE, STORE_VERSION, DATA_LOSS, or STORE with SQLite's words.
    """

    # Rule: after any failure but a full disk this handle is never used again. The next fsync would
    # succeed, although the pages of the failed one are lost.

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ended = ""  # why this handle is at its end
        self._logged = 0  # bytes that the write-ahead log grew by since it was last moved
        try:
            self._db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._failure(error) from error
        try:
            self._next = self._prepare()
        except BaseException as error:
            self._db.close()
            if isinstance(error, _FAILURES):
                raise self._failure(error) from error
            raise

    def load(self) -> Image:
        self._check_usable()
        audit = Audit()
        try:
            image = read_image(self._db, audit)
        except _FAILURES as error:
            raise self._failure(error) from error
        if audit.losses:
            raise self._data_loss(audit.losses)
        return image

    def commit(self, ops: Sequence[Op]) -> None:
        self._check_usable()
        change = fold(ops, self._next)
        if not change:
            return
        try:
            self._write(change)
        except _FAILURES as error:
            raise self._failure(error) from error
        self._next = change.next_position
        self._checkpoint_when_due(change)

    def close(self) -> None:
        self._ended = self._ended or "it is closed"
        self._db.close()

    def _prepare(self) -> int:
        self._db.text_factory = bytes  # damaged text must come out as it is, to be judged by its checksum
        for pragma in _PRAGMAS:
            self._db.execute(pragma)
        version = self._number("PRAGMA user_version")
        if version == 0 and self._number("SELECT count(*) FROM sqlite_master") == 0:
            for statement in ("BEGIN IMMEDIATE", *SCHEMA, "COMMIT"):
                self._db.execute(statement)
        elif version != VERSION:
            raise StoreError(
                f"{self._path} is not a store of this release: its version is {version}, not {VERSION}.",
                hint="Use the release that wrote it, or move the file away to start with an empty store.",
                code="STORE_VERSION",
            )
        audit = Audit()
        next_position = read_next_position(self._db, audit)
        if audit.losses:
            raise self._data_loss(audit.losses)
        return next_position

    def _number(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0])

    def _write(self, change: Change) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            write_change(self._db, change)
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _checkpoint_when_due(self, change: Change) -> None:
        touched = len(change.appended) + len(change.dropped) + len(change.rows)
        sizes = sum(len(header) + len(body) for header, body in change.appended.values())
        self._logged += sizes + (touched + 2) * _PAGE
        if self._logged < _CHECKPOINT:
            return
        self._logged = 0
        try:
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            # The commit itself is safe in the log, so nothing is raised. A full disk lets the log go on
            # growing, anything else ends this handle.
            self._failure(error)

    def _check_usable(self) -> None:
        if self._ended:
            raise StoreError(
                f"{self._path} is neither read nor written any more: {self._ended}.",
                hint="Restart the node.",
            )

    def _failure(self, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte; the rest only refines it
        if kind == sqlite3.SQLITE_FULL:
            return StoreFull(
                f"There is no room for {self._path}; nothing of this commit was written.",
                hint="Make room on that disk; the node goes on by itself.",
            )
        if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(error, UnicodeDecodeError):
            return self._data_loss(str(error))
        self._ended = f"it failed ({error})"
        if kind == sqlite3.SQLITE_BUSY:
            return StoreError(
                f"{self._path} is open in another process.",
                hint="Stop that process, or give this node a --data directory of its own.",
                code="STORE_IN_USE",
            )
        return StoreError(
            f"{self._path} failed: {error}.",
            hint="Look at that disk and its messages (dmesg), then restart the node.",
        )

    def _data_loss(self, losses: str) -> StoreError:
        self._ended = f"it is damaged ({losses})"
        return StoreError(
            f"{self._path} does not hold what was written to it: {losses}.",
            hint="Restore it from a copy, or move it away to start with an empty store.",
            code="DATA_LOSS",
        )
