"""Which rows does a node have in PostgreSQL, and how are they read and written?"""

from collections import deque
from collections.abc import Iterable
from uuid import UUID

from mesh.operations import FIRST_POSITION, TABLES, Stored
from mesh.store.change import Change, StoreProgress
from mesh.store.integrity import Audit, checksum, envelope_checksum
from mesh.store.postgres_connection import Connection
from mesh.streams.ranges import Ranges

VERSION = 2

# Rule 1: every row but a lease carries a checksum, as in SQLite. One database serves many nodes, and every
#         row names its owner.
# Rule 2: `dropped` accounts for each position whose envelope is gone, as ranges that never touch.
# Rule 3: `meta.commits` grows by one with each commit, in its transaction. So a commit whose answer was
#         lost is found, or found missing.

# What a lease has had since version 2. Nothing writes it yet: it is for a node that is started elsewhere.
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
    # Bodies as they are: to compress 64 MiB takes longer than to write them.
    "ALTER TABLE heronry.envelope ALTER body SET STORAGE EXTERNAL",
    "CREATE TABLE heronry.dropped (owner uuid, first bigint, last bigint, crc bigint, "
    "PRIMARY KEY (owner, first))",
    "CREATE TABLE heronry.side (owner uuid, name text, key bytea, value bytea, crc bigint)",
    # An index holds at most 2,700 bytes of a row, and a key may be longer.
    "CREATE UNIQUE INDEX side_key ON heronry.side (owner, name, sha256(key))",
    f"INSERT INTO heronry.version VALUES ({VERSION})",
)
# From version 1. Processes of the earlier release that run meanwhile go on.
UPGRADE = (
    f"ALTER TABLE heronry.lease {', '.join(f'ADD COLUMN {column}' for column in _SINCE_2)}",
    f"UPDATE heronry.version SET version = {VERSION}",
)

_META = "SELECT next_position, commits, crc FROM heronry.meta WHERE owner = %s"
_PUT = (
    "INSERT INTO heronry.side VALUES (%s, %s, %b, %b, %s) "
    "ON CONFLICT (owner, name, sha256(key)) DO UPDATE SET value = excluded.value, crc = excluded.crc"
)
# The ranges in the account that the given ones may touch: those right above, and the nearest below.
_AROUND = (
    "SELECT first, last FROM heronry.dropped WHERE owner = %(owner)s AND first = ANY(%(above)s::bigint[]) "
    "UNION SELECT below.first, below.last FROM unnest(%(firsts)s::bigint[]) AS gone (first), "
    "LATERAL (SELECT first, last FROM heronry.dropped WHERE owner = %(owner)s AND first < gone.first "
    "ORDER BY first DESC LIMIT 1) AS below"
)

# The ranges in the account that overlap the given ones.
_DROPPED = (
    "SELECT DISTINCT d.first, d.last, d.crc FROM unnest(%s::bigint[], %s::bigint[]) AS gap (first, last), "
    "heronry.dropped AS d WHERE d.owner = %s AND d.first <= gap.last AND d.last >= gap.first"
)
_ENVELOPES = "SELECT position, header, body, crc FROM heronry.envelope WHERE owner = %s"
PAGE = 64  # envelopes that are read at once


def create_owner(db: Connection, owner: UUID) -> None:
    db.execute(
        "INSERT INTO heronry.meta VALUES (%s, %s, 0, %s)",
        (owner, FIRST_POSITION, checksum(FIRST_POSITION, 0)),
    )


def read_counters(db: Connection, owner: UUID, audit: Audit, lock: bool = False) -> StoreProgress:
    """`lock`: until the transaction ends nobody else reads it so. They are 0 where they are lost."""
    rows = db.execute(f"{_META} FOR UPDATE" if lock else _META, (owner,))
    if not rows:
        audit.note("the count of positions is missing")
    elif audit.is_sound("the count of positions", rows[0][:2], rows[0][2]):
        return StoreProgress(*rows[0][:2])
    return StoreProgress(0, 0)


def read_all(
    db: Connection, owner: UUID, audit: Audit
) -> tuple[StoreProgress, dict[str, dict[bytes, bytes]]]:
    """The counters and the side tables, once every row was looked at; `audit` gets to know of those that
    are not as they were written."""
    with db.transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY"):
        counters = read_counters(db, owner, audit)
        envelopes = audit.envelopes(db.stream(f"{_ENVELOPES} ORDER BY position", (owner,)))
        deque(envelopes, 0)  # together they may be larger than memory
        tables = _read_tables(db, owner, audit)
        ranges = "SELECT first, last, crc FROM heronry.dropped WHERE owner = %s ORDER BY first"
        audit.dropped(db.stream(ranges, (owner,)))
    audit.finish(counters.next_position)
    return counters, tables


def read_page(db: Connection, owner: UUID, after: int, audit: Audit) -> list[Stored]:
    """The first few envelopes above a position, in order; none when there are no more."""
    rows = db.execute(f"{_ENVELOPES} AND position > %s ORDER BY position LIMIT {PAGE}", (owner, after))
    return list(audit.envelopes(rows))


def read_some(db: Connection, owner: UUID, wanted: Ranges, audit: Audit) -> list[Stored]:
    """Those at these positions, in order."""
    positions = [position for first, last in wanted for position in range(first, last + 1)]
    where = "AND position = ANY(%s::bigint[]) ORDER BY position"
    found = list(audit.envelopes(db.execute(f"{_ENVELOPES} {where}", (owner, positions))))
    if gaps := audit.unaccounted(wanted):
        firsts, lasts = zip(*gaps, strict=True)
        audit.dropped(db.execute(_DROPPED, ([*firsts], [*lasts], owner)))
        audit.lacks(wanted)
    return found


def _read_tables(db: Connection, owner: UUID, audit: Audit) -> dict[str, dict[bytes, bytes]]:
    tables: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}
    rows = "SELECT name, key, value, crc FROM heronry.side WHERE owner = %s"
    for name, key, value, crc in db.stream(rows, (owner,)):
        row = f"row {key!r:.80} of table {name!r:.80}"
        if name not in tables:
            audit.note(f"{row} is damaged")
        elif audit.is_sound(row, (name.encode(), key, value), crc):
            tables[name][key] = value
    return tables


def write_change(db: Connection, owner: UUID, change: Change, commits: int) -> None:
    """Every row of one commit, which is the store's `commits`th; the transaction is the caller's."""
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
        # Only what stands there is dropped now; the rest is in the account already.
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
    """Delete these rows; returns the values of those that were there."""
    where = f"owner = %s AND {column} = ANY(%s::bigint[])"
    delete = f"DELETE FROM heronry.{table} WHERE {where} RETURNING {column}"
    return [row[0] for row in db.execute(delete, (owner, [*values]))]
