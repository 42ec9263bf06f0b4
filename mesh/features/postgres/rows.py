"""The rows of a node in PostgreSQL, and their queries."""

from collections import deque
from collections.abc import Iterable
from uuid import UUID

from mesh.features.postgres.connection import Connection
from mesh.operations import FIRST_POSITION, TABLES, Span, Stored
from mesh.store.change import Change, StoreProgress
from mesh.store.integrity import Audit, checksum, envelope_checksum
from mesh.streams.ranges import Ranges

VERSION = 2

# Rule 1: every row except a lease has a checksum, as in SQLite. One database serves many nodes, and every row
#         names its owner.
# Rule 2: `dropped` lists the positions without an envelope, as ranges that never touch.
# Rule 3: `meta.commits` is incremented by each commit, in its transaction. Thus a commit whose answer was
#         lost can be detected.

# Columns of a lease since version 2, unused so far: they are for a node that is started elsewhere.
_SINCE_2 = (
    "released boolean NOT NULL DEFAULT false",
    "wanted boolean NOT NULL DEFAULT false",
    "wanted_by text NOT NULL DEFAULT ''",
    "name text NOT NULL DEFAULT ''",
    "succession bytea",
)
SCHEMA = (
    "CREATE TABLE heronry.version (version integer PRIMARY KEY)",
    "CREATE TABLE heronry.lease (res text PRIMARY KEY, holder uuid NOT NULL, boot bigint NOT NULL, "
    f"place text NOT NULL, epoch bigint NOT NULL, expires timestamptz NOT NULL, {', '.join(_SINCE_2)})",
    "CREATE TABLE heronry.meta (owner uuid PRIMARY KEY, next_position bigint, commits bigint, crc bigint)",
    "CREATE TABLE heronry.envelope (owner uuid, position bigint, header bytea, body bytea, crc bigint, "
    "PRIMARY KEY (owner, position))",
    # Bodies are not compressed: to compress 64 MiB takes longer than to write them.
    "ALTER TABLE heronry.envelope ALTER body SET STORAGE EXTERNAL",
    "CREATE TABLE heronry.dropped (owner uuid, first bigint, last bigint, crc bigint, "
    "PRIMARY KEY (owner, first))",
    "CREATE TABLE heronry.side (owner uuid, name text, key bytea, value bytea, crc bigint)",
    # An index entry holds at most 2,700 bytes, and a key may be longer.
    "CREATE UNIQUE INDEX side_key ON heronry.side (owner, name, sha256(key))",
    f"INSERT INTO heronry.version VALUES ({VERSION})",
)
# From version 1. Running processes of the earlier release continue.
UPGRADE = (
    f"ALTER TABLE heronry.lease {', '.join(f'ADD COLUMN {column}' for column in _SINCE_2)}",
    f"UPDATE heronry.version SET version = {VERSION}",
)

_META = "SELECT next_position, commits, crc FROM heronry.meta WHERE owner = %s"
_PUT = (
    "INSERT INTO heronry.side VALUES (%s, %s, %b, %b, %s) "
    "ON CONFLICT (owner, name, sha256(key)) DO UPDATE SET value = excluded.value, crc = excluded.crc"
)
# Dropped ranges that may touch the given ones: those right above, and the nearest below.
_AROUND = (
    "SELECT first, last FROM heronry.dropped WHERE owner = %(owner)s AND first = ANY(%(above)s::bigint[]) "
    "UNION SELECT below.first, below.last FROM unnest(%(firsts)s::bigint[]) AS gone (first), "
    "LATERAL (SELECT first, last FROM heronry.dropped WHERE owner = %(owner)s AND first < gone.first "
    "ORDER BY first DESC LIMIT 1) AS below"
)

# Dropped ranges that overlap the given ones.
_DROPPED = (
    "SELECT DISTINCT d.first, d.last, d.crc FROM unnest(%s::bigint[], %s::bigint[]) AS gap (first, last), "
    "heronry.dropped AS d WHERE d.owner = %s AND d.first <= gap.last AND d.last >= gap.first"
)
_ENVELOPES = "SELECT position, header, body, crc FROM heronry.envelope WHERE owner = %s"
PAGE = 64  # envelopes per query


def create_owner(db: Connection, owner: UUID) -> None:
    db.execute(
        "INSERT INTO heronry.meta VALUES (%s, %s, 0, %s)",
        (owner, FIRST_POSITION, checksum(FIRST_POSITION, 0)),
    )


def read_counters(db: Connection, owner: UUID, audit: Audit, lock: bool = False) -> StoreProgress:
    """Return the counters, or zeros if they are missing or damaged, which `audit` records.

    With `lock` the row is locked until the transaction ends.
    """
    rows = db.execute(f"{_META} FOR UPDATE" if lock else _META, (owner,))
    if not rows:
        audit.record_loss("the count of positions is missing")
    elif audit.is_sound("the count of positions", rows[0][:2], rows[0][2]):
        return StoreProgress(*rows[0][:2])
    return StoreProgress(0, 0)


def read_all(
    db: Connection, owner: UUID, audit: Audit
) -> tuple[StoreProgress, dict[str, dict[bytes, bytes]]]:
    """Return the counters and the side tables after reading every row. `audit` records damage."""
    with db.transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY"):
        counters = read_counters(db, owner, audit)
        envelopes = audit.envelopes(db.stream(f"{_ENVELOPES} ORDER BY position", (owner,)))
        deque(envelopes, 0)  # may exceed the memory
        tables = _read_tables(db, owner, audit)
        ranges = "SELECT first, last, crc FROM heronry.dropped WHERE owner = %s ORDER BY first"
        audit.dropped(db.stream(ranges, (owner,)))
    audit.finish(counters.next_position)
    return counters, tables


def read_page(db: Connection, owner: UUID, after: int, audit: Audit) -> list[Stored]:
    """Return a page of unchanged envelopes above a position, in order; empty at the end."""
    rows = db.execute(f"{_ENVELOPES} AND position > %s ORDER BY position LIMIT {PAGE}", (owner, after))
    return list(audit.envelopes(rows))


def read_span(db: Connection, owner: UUID, span: Span, audit: Audit) -> list[Stored]:
    """Return the unchanged envelopes of a span, in order. `audit` records damage."""
    where = "AND position BETWEEN %s AND %s ORDER BY position LIMIT %s"
    rows = db.execute(f"{_ENVELOPES} {where}", (owner, span.first, span.last, span.most))
    found = list(audit.envelopes(rows))
    wanted = Ranges()
    wanted.add(span.first, found[-1][0] if len(found) == span.most else span.last)
    _account_for(db, owner, wanted, audit)
    return found


def read_some(db: Connection, owner: UUID, wanted: Ranges, audit: Audit) -> list[Stored]:
    """Return the unchanged envelopes at the wanted positions, in order. `audit` records damage."""
    positions = [position for first, last in wanted for position in range(first, last + 1)]
    where = "AND position = ANY(%s::bigint[]) ORDER BY position"
    found = list(audit.envelopes(db.execute(f"{_ENVELOPES} {where}", (owner, positions))))
    _account_for(db, owner, wanted, audit)
    return found


def _account_for(db: Connection, owner: UUID, wanted: Ranges, audit: Audit) -> None:
    """Record positions of `wanted` as missing if they hold no envelope and were not dropped."""
    if gaps := audit.unaccounted(wanted):
        firsts, lasts = zip(*gaps, strict=True)
        audit.dropped(db.execute(_DROPPED, ([*firsts], [*lasts], owner)))
        audit.lacks(wanted)


def _read_tables(db: Connection, owner: UUID, audit: Audit) -> dict[str, dict[bytes, bytes]]:
    tables: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}
    rows = "SELECT name, key, value, crc FROM heronry.side WHERE owner = %s"
    for name, key, value, crc in db.stream(rows, (owner,)):
        row = f"row {key!r:.80} of table {name!r:.80}"
        if name not in tables:
            audit.record_loss(f"{row} is damaged")
        elif audit.is_sound(row, (name.encode(), key, value), crc):
            tables[name][key] = value
    return tables


def write_change(db: Connection, owner: UUID, change: Change, commits: int) -> None:
    """Write the rows of one commit, number `commits`, in the caller's transaction."""
    db.execute_many(
        "INSERT INTO heronry.envelope VALUES (%s, %s, %b, %b, %s)",
        [
            (owner, position, header, body, envelope_checksum(position, header, body))
            for position, (header, body) in change.appended.items()
        ],
    )
    db.execute_many(
        "UPDATE heronry.envelope SET header = %b, body = %b, crc = %s WHERE owner = %s AND position = %s",
        [
            (header, body, envelope_checksum(position, header, body), owner, position)
            for position, (header, body) in change.rewritten.items()
        ],
    )
    _write_dropped(db, owner, change)
    _write_tables(db, owner, change)
    count = (change.next_position, commits)
    db.execute(
        "UPDATE heronry.meta SET next_position = %s, commits = %s, crc = %s WHERE owner = %s",
        (*count, checksum(*count), owner),
    )


def _write_dropped(db: Connection, owner: UUID, change: Change) -> None:
    ranges = change.empty_positions()
    if change.dropped:
        # Only existing envelopes are dropped now; other positions are in the account already.
        for position in _delete(db, "envelope", "position", owner, change.dropped):
            ranges.add(position, position)
    if not ranges:
        return
    firsts, above = zip(*((first, last + 1) for first, last in ranges), strict=True)
    touched = db.execute(_AROUND, {"owner": owner, "above": [*above], "firsts": [*firsts]})
    for first, last in touched:
        ranges.add(first, last)
    _delete(db, "dropped", "first", owner, (first for first, _ in touched))
    db.execute_many(
        "INSERT INTO heronry.dropped VALUES (%s, %s, %s, %s)",
        [(owner, first, last, checksum(first, last)) for first, last in ranges],
    )


def _write_tables(db: Connection, owner: UUID, change: Change) -> None:
    puts, gone = [], []
    for (table, key), value in change.rows.items():
        if value is None:
            gone.append((owner, table, key))
        else:
            puts.append((owner, table, key, value, checksum(table.encode(), key, value)))
    db.execute_many(_PUT, puts)
    delete = "DELETE FROM heronry.side WHERE owner = %s AND name = %s AND sha256(key) = sha256(%b)"
    db.execute_many(delete, gone)


def _delete(db: Connection, table: str, column: str, owner: UUID, values: Iterable[int]) -> list[int]:
    """Delete rows, and return the values that existed."""
    where = f"owner = %s AND {column} = ANY(%s::bigint[])"
    delete = f"DELETE FROM heronry.{table} WHERE {where} RETURNING {column}"
    return [row[0] for row in db.execute(delete, (owner, [*values]))]
