"""Stores of an earlier release, which are upgraded, and of a later one, which are refused by name."""

import gzip
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from mesh.errors import StoreError
from mesh.features.postgres.connection import Connection
from mesh.features.postgres.rows import create_owner, write_change
from mesh.features.postgres.setup import _LOCK
from mesh.features.postgres.store import PostgresStore
from mesh.operations import BOOT, TABLES, Append, Drop, Image, Op, Put
from mesh.store.change import fold
from mesh.store.lease import LeaseTiming
from mesh.store.sqlite import SQLiteStore
from tests.mesh.running import until
from tests.mesh.store.images import loaded
from tests.postgres import USER, PostgresServer

# An earlier release wrote this file, with the seven tables that it had.
VERSION_2 = Path(__file__).with_name("version-2.sqlite.gz")
WAS = ("stream", "feed", "position", "inbox", "retained", "peer", "weights")
TABLES_2: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES} | {
    table: {b"key": table.encode()} for table in WAS if table != "peer"
}
ENVELOPES_2 = [(n, b"header %d" % n, b"body %d" % n) for n in (1, 4, 5)]
IMAGE_2 = Image([*ENVELOPES_2, (BOOT, b"header", b"of the next boot")], TABLES_2, BOOT + 1)

# An earlier release made these tables.
POSTGRES_1 = (
    "CREATE SCHEMA heronry",
    "CREATE TABLE heronry.version (version integer PRIMARY KEY)",
    "CREATE TABLE heronry.lease (res text PRIMARY KEY, holder uuid NOT NULL, boot bigint NOT NULL, "
    "place text NOT NULL, epoch bigint NOT NULL, expires timestamptz NOT NULL)",
    "CREATE TABLE heronry.meta (owner uuid PRIMARY KEY, next_position bigint, commits bigint, crc bigint)",
    "CREATE TABLE heronry.envelope (owner uuid, position bigint, header bytea, body bytea, crc bigint, "
    "PRIMARY KEY (owner, position))",
    "ALTER TABLE heronry.envelope ALTER body SET STORAGE EXTERNAL",
    "CREATE TABLE heronry.dropped (owner uuid, first bigint, last bigint, crc bigint, "
    "PRIMARY KEY (owner, first))",
    "CREATE TABLE heronry.side (owner uuid, name text, key bytea, value bytea, crc bigint)",
    "CREATE UNIQUE INDEX side_key ON heronry.side (owner, name, sha256(key))",
    "INSERT INTO heronry.version VALUES (1)",
)
LONG = LeaseTiming(120)  # on a busy machine
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
COLUMNS = (
    "SELECT column_name::text, data_type::text, is_nullable::text, column_default::text "
    "FROM information_schema.columns WHERE table_schema = 'heronry' AND table_name = 'lease' "
    "ORDER BY ordinal_position"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a store file of an earlier release."""
    found = tmp_path / "store.sqlite"
    found.write_bytes(gzip.decompress(VERSION_2.read_bytes()))
    return found


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def refusal(act: Callable[[], object]) -> StoreError:
    with pytest.raises(StoreError) as found:
        act()
    return found.value


def test_a_file_of_the_release_before_is_taken_up_and_has_all_tables_then(path: Path) -> None:
    assert version(path) == 2
    with closing(SQLiteStore(path)) as store:
        assert (loaded(store), store.reach.commits) == (IMAGE_2, 4)
        store.commit([Put(table, b"new", b"row") for table in TABLES])
    assert version(path) == 3
    with closing(SQLiteStore(path)) as store:
        tables = store.load().tables
    assert tables == {table: {**rows, b"new": b"row"} for table, rows in TABLES_2.items()}


def test_to_look_at_it_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    SQLiteStore.check_openable(path)
    assert path.read_bytes() == before


def test_a_damaged_one_stays_what_it_is(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE meta SET next_position = 7")
        db.commit()
    assert refusal(lambda: SQLiteStore(path)).code == "DATA_LOSS"
    assert version(path) == 2


def database_of_version_1(server: PostgresServer) -> tuple[str, bytes, bytes]:
    """Return the address of a database of an earlier release, and two nodes that have rows in it."""
    url, owners = server.database(), (secrets.token_bytes(16), secrets.token_bytes(16))
    with closing(Connection.open(url, 5, 5)) as db:
        for statement in POSTGRES_1:
            db.execute(statement)
        for owner in (UUID(bytes=uuid) for uuid in owners):
            lease = f"('store/{owner.hex}', '{owner}', 1, 'there', 1, to_timestamp(0))"
            db.execute(f"INSERT INTO heronry.lease VALUES {lease}")
            create_owner(db, owner)
            ops: list[Op] = [
                Append(1, b"h", owner.bytes),
                Append(2, b"h", b""),
                Drop((2,)),
                Put("feed", b"f", b"v"),
            ]
            write_change(db, owner, fold(ops, 1), 1)
    return url, *owners


def test_a_database_of_the_release_before_is_taken_up_for_all_its_nodes(postgres: PostgresServer) -> None:
    url, one, other = database_of_version_1(postgres)
    PostgresStore.check_openable(url)
    assert postgres.sql("SELECT version FROM heronry.version", url) == [(1,)]
    with closing(Connection.open(url, 60, 60)) as db, ThreadPoolExecutor() as both:
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            opened = both.map(lambda owner: PostgresStore(url, owner, 2, terms=LONG), (one, other))
            until(lambda: db.execute(WAITING) == [(2,)])  # both have seen the old tables
        stores = list(opened)
    assert postgres.sql("SELECT version FROM heronry.version", url) == [(2,)]
    for owner, store in zip((one, other), stores, strict=True):
        with closing(store):
            image = loaded(store)
            assert (image.envelopes, image.next_position) == ([(1, b"h", owner)], 3)
            assert image.tables["feed"] == {b"f": b"v"}
            store.commit([Append(3, b"", b""), Put("part", b"new", b"row")])
    new = postgres.database()
    PostgresStore(new, one, 1).close()
    assert postgres.sql(COLUMNS, url) == postgres.sql(COLUMNS, new), "as one that was made now"


def test_who_has_not_made_the_tables_is_told_who_must_come_first(postgres: PostgresServer) -> None:
    url, one, other = database_of_version_1(postgres)
    guest = postgres.user()
    postgres.sql(f"GRANT USAGE ON SCHEMA heronry TO {guest}", url)
    postgres.sql(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA heronry TO {guest}", url)
    as_guest = url.replace(f"{USER}@", f"{guest}@")
    for refused in (
        refusal(lambda: PostgresStore.check_openable(as_guest)),
        refusal(lambda: PostgresStore(as_guest, one, 2)),
    ):
        assert refused.code == "STORE_VERSION"
        assert f"as the user {USER}, who" in refused.hint
    PostgresStore(url, other, 2).close()
    PostgresStore.check_openable(as_guest)
    PostgresStore(as_guest, one, 2).close()
