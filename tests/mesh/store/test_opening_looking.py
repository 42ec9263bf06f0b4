"""Is it known beforehand whether a store could be opened, and is nothing changed by asking?"""

import secrets
import sqlite3
from pathlib import Path

import pytest

from mesh.errors import StoreError
from mesh.operations import Put
from mesh.store.postgres import PostgresStore
from mesh.store.sqlite import SQLiteStore
from tests.postgres import PostgresServer

OURS = "SELECT count(*) FROM pg_tables WHERE schemaname = 'heronry'"


def test_trial_C_a_store_that_was_killed_is_looked_at_and_left_as_it_is(tmp_path: Path) -> None:
    SQLiteStore.look(tmp_path / "store.sqlite")
    store = SQLiteStore(tmp_path / "store.sqlite")
    store.commit([Put("peer", b"a", b"b")])

    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    before = files()  # with a log that was not moved into the file
    SQLiteStore.look(tmp_path / "store.sqlite")
    assert files() == before and "store.sqlite-wal" in before
    store.close()
    with sqlite3.connect(tmp_path / "store.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError) as refused:
        SQLiteStore.look(tmp_path / "store.sqlite")
    assert refused.value.code == "STORE_VERSION"
    (tmp_path / "store.sqlite").unlink()
    (tmp_path / "store.sqlite").mkdir()
    with pytest.raises(StoreError):
        SQLiteStore.look(tmp_path / "store.sqlite")


def test_trial_C_a_database_is_looked_at_and_gets_no_tables_of_ours(postgres: PostgresServer) -> None:
    url = postgres.database()
    PostgresStore.look(url)
    assert postgres.sql(OURS, url) == [(0,)]
    PostgresStore(url, secrets.token_bytes(16), 1).close()
    PostgresStore.look(url)
    postgres.sql("UPDATE heronry.version SET version = 99", url)
    with pytest.raises(StoreError) as refused:
        PostgresStore.look(url)
    assert refused.value.code == "STORE_VERSION"
    with pytest.raises(StoreError, match="failed"):
        PostgresStore.look(postgres.url("nowhere"))


def test_trial_C_who_may_make_no_tables_is_told_so_beforehand(postgres: PostgresServer) -> None:
    url = postgres.database()
    name = url.partition("@/")[2].partition("?")[0]
    guest = postgres.user()
    postgres.sql(f"REVOKE CREATE ON DATABASE {name} FROM PUBLIC")
    as_guest = postgres.url(name, guest)
    with pytest.raises(StoreError, match="may not make the tables"):
        PostgresStore.look(as_guest)
    with pytest.raises(StoreError):
        PostgresStore(as_guest, secrets.token_bytes(16), 1)
    postgres.sql(f"CREATE SCHEMA heronry AUTHORIZATION {guest}", url)
    PostgresStore.look(as_guest)
    PostgresStore(as_guest, secrets.token_bytes(16), 1).close()
