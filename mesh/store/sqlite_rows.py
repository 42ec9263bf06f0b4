"""The rows of the SQLite file, and their queries."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from mesh.operations import FIRST_POSITION, TABLES, Span, Stored
from mesh.store.change import Change, StoreProgress
from mesh.store.integrity import Audit, checksum, envelope_checksum
from mesh.streams.ranges import Ranges

VERSION = 3  # earlier ones are upgraded

# Rule 1: every row has a checksum; SQLite has none, and returns flipped bits.
# Rule 2: `dropped` lists the positions without an envelope, as ranges that never touch.

_TABLES = (
    "CREATE TABLE envelope (position INTEGER PRIMARY KEY, header BLOB, body BLOB, crc INTEGER)",
    "CREATE TABLE dropped (first INTEGER PRIMARY KEY, last INTEGER, crc INTEGER)",
    "CREATE TABLE side (name TEXT, key BLOB, value BLOB, crc INTEGER, PRIMARY KEY (name, key))",
    "CREATE TABLE meta (id INTEGER PRIMARY KEY, next_position INTEGER, commits INTEGER, crc INTEGER)",
)
SCHEMA = (
    *_TABLES,
    f"INSERT INTO meta VALUES (1, {FIRST_POSITION}, 0, {checksum(FIRST_POSITION, 0)})",
    f"PRAGMA user_version={VERSION}",
)
# Version 1 had no commit counter; version 2 had fewer side tables.
_META_1 = "CREATE TABLE meta (id INTEGER PRIMARY KEY, next_position INTEGER, crc INTEGER)"
_PUT = (
    "INSERT INTO side VALUES (?, ?, ?, ?) "
    "ON CONFLICT (name, key) DO UPDATE SET value = excluded.value, crc = excluded.crc"
)
# Dropped ranges that overlap the given one.
_DROPPED = (
    "SELECT first, last, crc FROM dropped WHERE first <= ? AND last >= ? "
    "AND first >= ifnull((SELECT max(first) FROM dropped WHERE first <= ?), ?)"
)


class Cursor(Protocol):
    """The rows that a statement returns."""

    def __iter__(self) -> Iterator[Any]: ...
    def fetchone(self) -> Any: ...


class Database(Protocol):
    """The methods of a database connection that are used here."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Cursor: ...
    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> object: ...


def read_counters(db: Database, audit: Audit) -> StoreProgress:
    """Return the counters, or zeros if they or the schema are damaged, which `audit` records."""
    return _read_counters(db, audit, _TABLES, "next_position, commits")


def _read_counters(db: Database, audit: Audit, tables: Sequence[str], columns: str) -> StoreProgress:
    found = {row[0] for row in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if found != {text.encode() for text in tables}:
        audit.record_loss("the description of its tables is damaged")
        return StoreProgress(0, 0)
    row = db.execute(f"SELECT {columns}, crc FROM meta WHERE id = 1").fetchone()
    if row is None:
        audit.record_loss("the count of positions is missing")
    elif audit.is_sound("the count of positions", row[:-1], row[-1]):
        return StoreProgress(row[0], row[1] if len(row) > 2 else 0)
    return StoreProgress(0, 0)


def upgrade(db: Database, version: int) -> None:
    """Upgrade from an earlier version in the caller's transaction. A damaged file stays unchanged."""
    audit = Audit()
    if version > 1:
        read_counters(db, audit)
    else:
        counters = _read_counters(db, audit, (*_TABLES[:-1], _META_1), "next_position")
        if not audit.losses:
            db.execute("DROP TABLE meta")
            db.execute(_TABLES[-1])
            db.execute("INSERT INTO meta VALUES (1, ?, ?, ?)", (*counters, checksum(*counters)))
    if not audit.losses:
        db.execute(f"PRAGMA user_version={VERSION}")


def read_all(db: Database, audit: Audit) -> tuple[StoreProgress, dict[str, dict[bytes, bytes]]]:
    """Return the counters and the side tables after reading every row. `audit` records damage."""
    counters = read_counters(db, audit)
    deque(read_envelopes(db, audit), 0)  # may exceed the memory
    tables = _read_tables(db, audit)
    audit.dropped(db.execute("SELECT first, last, crc FROM dropped ORDER BY first"))
    audit.finish(counters.next_position)
    # A damaged page can hide rows of the side tables, whose keys are not counted.
    for (words,) in db.execute("PRAGMA integrity_check(5)"):
        if words != b"ok":
            audit.record_loss(words.decode(errors="replace"))
    return counters, tables


def read_envelopes(db: Database, audit: Audit) -> Iterator[Stored]:
    return audit.envelopes(db.execute("SELECT * FROM envelope ORDER BY position"))


def read_some(db: Database, wanted: Ranges, audit: Audit) -> list[Stored]:
    """Return the unchanged envelopes at the wanted positions, in order. `audit` records damage."""
    found: list[Stored] = []
    for both in wanted:
        rows = db.execute("SELECT * FROM envelope WHERE position BETWEEN ? AND ? ORDER BY position", both)
        found += audit.envelopes(rows)
    # One row of the account may cover several positions.
    audit.dropped(
        {
            row
            for first, last in audit.unaccounted(wanted)
            for row in db.execute(_DROPPED, (last, first, first, first))
        }
    )
    audit.lacks(wanted)
    return found


def read_span(db: Database, span: Span, audit: Audit) -> list[Stored]:
    """Return the unchanged envelopes of a span, in order. `audit` records damage."""
    end = span.last
    query = "SELECT position FROM envelope WHERE position BETWEEN ? AND ? ORDER BY position LIMIT 1 OFFSET ?"
    for (position,) in db.execute(query, (span.first, span.last, span.most - 1)):
        end = position
    wanted = Ranges()
    wanted.add(span.first, end)
    return read_some(db, wanted, audit)


def _read_tables(db: Database, audit: Audit) -> dict[str, dict[bytes, bytes]]:
    tables: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}
    names = {table.encode(): table for table in TABLES}
    for name, key, value, crc in db.execute("SELECT * FROM side NOT INDEXED"):
        row = f"row {key!r:.80} of table {name!r:.80}"
        if name not in names:
            audit.record_loss(f"{row} is damaged")
        elif audit.is_sound(row, (name, key, value), crc):
            tables[names[name]][key] = value
    return tables


def write_change(db: Database, change: Change, counters: StoreProgress) -> None:
    """Write the rows of one commit in the caller's transaction."""
    db.executemany(
        "INSERT INTO envelope VALUES (?, ?, ?, ?)",
        (
            (position, header, body, envelope_checksum(position, header, body))
            for position, (header, body) in change.appended.items()
        ),
    )
    db.executemany(
        "UPDATE envelope SET header = ?, body = ?, crc = ? WHERE position = ?",
        (
            (header, body, envelope_checksum(position, header, body), position)
            for position, (header, body) in change.rewritten.items()
        ),
    )
    _write_dropped(db, change)
    _write_tables(db, change)
    write_counters(db, counters)


def write_counters(db: Database, counters: StoreProgress) -> None:
    row = (*counters, checksum(*counters))
    db.execute("UPDATE meta SET next_position = ?, commits = ?, crc = ? WHERE id = 1", row)


def _write_dropped(db: Database, change: Change) -> None:
    gone = change.empty_positions()
    for both in Ranges.of(sorted(change.dropped)):
        # Only existing envelopes are dropped now; other positions are in the account already.
        for (position,) in db.execute("SELECT position FROM envelope WHERE position BETWEEN ? AND ?", both):
            gone.add(position, position)
        db.execute("DELETE FROM envelope WHERE position BETWEEN ? AND ?", both)
    for first, last in gone:
        _account(db, first, last)


def _account(db: Database, first: int, last: int) -> None:
    below = "SELECT first, last FROM dropped WHERE first < ? ORDER BY first DESC LIMIT 1"
    before = db.execute(below, (first,)).fetchone()
    after = db.execute("SELECT last FROM dropped WHERE first = ?", (last + 1,)).fetchone()
    if before and before[1] == first - 1:
        first = before[0]
    if after:
        last = after[0]
    db.execute("DELETE FROM dropped WHERE first BETWEEN ? AND ?", (first, last))
    db.execute("INSERT INTO dropped VALUES (?, ?, ?)", (first, last, checksum(first, last)))


def _write_tables(db: Database, change: Change) -> None:
    db.executemany(
        _PUT,
        (
            (table, key, value, checksum(table.encode(), key, value))
            for (table, key), value in change.rows.items()
            if value is not None
        ),
    )
    gone = [place for place, value in change.rows.items() if value is None]
    db.executemany("DELETE FROM side WHERE name = ? AND key = ?", gone)
