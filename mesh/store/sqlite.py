"""A store in one SQLite file. Only this module and `sqlite_copy` use sqlite3."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from mesh.errors import StoreError, StoreFull
from mesh.operations import Image, Op, Positions, Span, Stored, StoreReach
from mesh.store.change import Change, StoreProgress, fold
from mesh.store.integrity import Audit, possible, within
from mesh.store.reading import Reading
from mesh.store.sqlite_copy import copy_database
from mesh.store.sqlite_rows import (
    SCHEMA,
    VERSION,
    read_all,
    read_counters,
    read_envelopes,
    read_some,
    read_span,
    upgrade,
    write_change,
    write_counters,
)

T = TypeVar("T")

_PAGE = 4096  # log growth per touched row, roughly
CHECKPOINT = 8 * 1024 * 1024  # bytes of the log that trigger a checkpoint

_PRAGMAS = (
    # One process owns the file. The log's index stays in memory, where no disk error can affect it.
    "PRAGMA locking_mode=EXCLUSIVE",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA fullfsync=1",
    # Some builds fill freed pages with zeros, so dropping acknowledged messages would rewrite all of them.
    "PRAGMA secure_delete=OFF",
    # SQLite ignores errors of automatic checkpoints; ours must be seen.
    "PRAGMA wal_autocheckpoint=0",
    f"PRAGMA journal_size_limit={2 * CHECKPOINT}",
)

_CHECK = "Check that disk and its kernel messages (dmesg)"
_ANEW = "move it away and start with an empty one: mesh up --accept-rollback"

# SQLite quotes a damaged schema in its error, which Python then cannot decode as UTF-8.
_FAILURES = (sqlite3.Error, UnicodeDecodeError)


class SQLiteStore:
    """A store in one file. Any thread may use it, but only one at a time.

    Opening raises StoreError: STORE_IN_USE, STORE_VERSION, STORE_FULL, DATA_LOSS, or STORE with the
    text of SQLite.
    """

    # Rule: after any failure except a full disk, this handle is never used again. The next fsync would
    #       succeed although the pages of the failed one are lost.

    def __init__(self, path: Path, checkpoint: int = CHECKPOINT) -> None:
        self._path = path
        self._most_logged = checkpoint
        self._ended = ""  # why this handle must no longer be used
        self._remedy = "Restart the node."  # the hint for `_ended`
        self._logged = 0  # bytes of log growth since the last checkpoint
        self.is_cramped = False  # a checkpoint failed for lack of space
        try:
            self._db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._failure(error) from error
        try:
            self._counters = self._prepare()
        except BaseException as error:
            self._db.close()
            if isinstance(error, _FAILURES):
                raise self._failure(error) from error
            raise

    @classmethod
    def check_openable(cls, path: Path) -> None:
        """Check, without changing the file, that it can be opened if it exists. Raises: StoreError."""
        if not path.exists():
            return
        store = cls.__new__(cls)
        store._path, store._ended = path, ""
        try:
            # Immutable: no file is created beside it. Its log is not read, which does not affect the checks.
            db = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, timeout=0)
            with contextlib.closing(db) as store._db:
                store._version()
        except _FAILURES as error:
            raise store._failure(error) from error

    def load(self) -> Image:
        counters, tables = self._read(read_all)
        return Image(Reading(self._envelopes), tables, counters.next_position, counters.reach)

    def read(self, positions: Positions) -> list[Stored]:
        if isinstance(positions, Span):
            span = within(positions, self.reach.log)
            return self._read(lambda db, audit: read_span(db, span, audit)) if span is not None else []
        wanted = possible(positions, self.reach.log)
        return self._read(lambda db, audit: read_some(db, wanted, audit))

    def commit(self, ops: Sequence[Op]) -> None:
        self._check_usable()
        change = fold(ops, self._counters.next_position)
        if not change:
            return
        counters = StoreProgress(change.next_position, self._counters.commits + 1)
        self._write(lambda: write_change(self._db, change, counters), counters)
        self._note_logged(change)
        if self._logged >= self._most_logged:
            self.checkpoint()

    @property
    def reach(self) -> StoreReach:
        return self._counters.reach

    def count_from(self, commits: int) -> None:
        """Set the number of commits to `commits`, after earlier commits were lost."""
        self._check_usable()
        counters = StoreProgress(self._counters.next_position, commits)
        self._write(lambda: write_counters(self._db, counters), counters)

    def spare(self) -> int:
        """Return the bytes in the file that can be reused."""
        self._check_usable()
        try:
            return self._number("PRAGMA freelist_count") * self._number("PRAGMA page_size")
        except _FAILURES as error:
            raise self._failure(error) from error

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file. Errors are not raised: the data is safe in the log.

        An error other than a full disk ends the use of this object.
        """
        self._logged, self.is_cramped = 0, False
        try:
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            # On a full disk the log just grows; any other error ends this handle.
            self.is_cramped = isinstance(self._failure(error), StoreFull)
            self._logged = self._most_logged  # retry after the next commit

    def copy(self, path: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Copy the store durably into a new file.

        `meanwhile` is called repeatedly, and may commit; such commits are in the copy. Raises: StoreError;
        the store stays usable.
        """
        self._check_usable()
        copy_database(self._db, Path(path), meanwhile)

    def close(self) -> None:
        self._ended = self._ended or "it is closed"
        self._db.close()

    def _prepare(self) -> StoreProgress:
        self._db.text_factory = bytes  # damaged text must reach the checksum unchanged
        for pragma in _PRAGMAS:
            self._db.execute(pragma)
        version = self._version()
        if version == 0:
            for statement in ("BEGIN IMMEDIATE", *SCHEMA, "COMMIT"):
                self._db.execute(statement)
        elif version < VERSION:
            self._within_transaction(lambda: upgrade(self._db, version))
        audit = Audit()
        counters = read_counters(self._db, audit)
        if audit.losses:
            raise self._data_loss(audit.losses)
        return counters

    def _version(self) -> int:
        """Return the version, 0 for an empty file. Raises: StoreError if this release cannot read it."""
        version = self._number("PRAGMA user_version")
        is_empty = version == 0 and self._number("SELECT count(*) FROM sqlite_master") == 0
        if not is_empty and not 1 <= version <= VERSION:
            what = f"{self._path} is not a store of a node: its version is {version}."
            hint = f"Choose another file, or {_ANEW}."
            if version > VERSION:
                what = f"{self._path} has version {version}, but this release reads only up to {VERSION}."
                hint = f"Use the release that wrote it, or {_ANEW}."
            raise StoreError(what, hint=hint, code="STORE_VERSION")
        return version

    def _number(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0])

    def _write(self, work: Callable[[], None], counters: StoreProgress) -> None:
        try:
            self._within_transaction(work)
        except _FAILURES as error:
            raise self._failure(error) from error
        self._counters = counters

    def _envelopes(self) -> Iterator[Stored]:
        self._check_usable()
        audit = Audit()
        try:
            yield from read_envelopes(self._db, audit)
        except _FAILURES as error:
            raise self._failure(error) from error
        if audit.losses:
            raise self._data_loss(audit.losses)

    def _read(self, work: Callable[[sqlite3.Connection, Audit], T]) -> T:
        self._check_usable()
        audit = Audit()
        try:
            found = work(self._db, audit)
        except _FAILURES as error:
            raise self._failure(error) from error
        if audit.losses:
            raise self._data_loss(audit.losses)
        return found

    def _within_transaction(self, work: Callable[[], None]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            work()
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _note_logged(self, change: Change) -> None:
        touched = len(change.appended) + len(change.rewritten) + len(change.dropped) + len(change.rows)
        parts = (*change.appended.values(), *change.rewritten.values())
        size = sum(len(header) + len(body) for header, body in parts)
        size += sum(len(value) for value in change.rows.values() if value is not None)
        self._logged += size + (touched + 2) * _PAGE

    def _check_usable(self) -> None:
        if self._ended:
            raise StoreError(f"The store {self._path} has stopped: {self._ended}.", hint=self._remedy)

    def _failure(self, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte; the rest only refines it
        if kind == sqlite3.SQLITE_FULL:
            what = f"{self._path} has no space on its disk; nothing of this change was written."
            return StoreFull(what, hint="Free space on that disk. A running node then continues by itself.")
        if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(error, UnicodeDecodeError):
            return self._data_loss(str(error))
        self._ended = f"it failed ({error})"
        if kind == sqlite3.SQLITE_BUSY:
            hint = "Stop that process, or use another file: with --data, or for a queue in [[queues]]."
            return StoreError(f"{self._path} is open in another process.", hint=hint, code="STORE_IN_USE")
        is_access = kind in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
        hint = "Check that its directory exists, and that this user may write there" if is_access else _CHECK
        self._remedy = f"{hint}, then start the node again."
        return StoreError(f"{self._path} failed: {error}.", hint=self._remedy)

    def _data_loss(self, losses: str) -> StoreError:
        self._ended = f"it is damaged ({losses})"
        self._remedy = f"Restore it from a copy, or {_ANEW}."
        what = f"{self._path} is not an intact store: {losses}."
        return StoreError(what, hint=self._remedy, code="DATA_LOSS")
