"""Transactions of a database, with each driver."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy

import mesh
from mesh.features.transactions.database.outbox_rows import ROW_HEADER, read_terms
from mesh.wire.properties import decode_properties
from tests.mesh.features.transactions.database.drivers import (
    POSTGRES,
    SQLITE,
    Open,
    insert_order,
    prepared,
    rows_of,
    sqlite3_connection,
    sqlite_url,
)
from tests.postgres import PostgresServer

ROWS = "SELECT kind, target, domain, content FROM heronry_outbox ORDER BY id"
ORDERS = "SELECT name FROM orders"


async def _commit_and_roll_back(open_: Open, url: str) -> None:
    async with open_(url) as db:
        async with mesh.transaction(db=db) as tx:
            await insert_order(db, "1")
            tx.put("mail", b"letter")
            tx.publish("orders/1", b"paid", domain="shop")
            tx.send("client/joe", b"done")
        with pytest.raises(KeyError):
            async with mesh.transaction(db=db) as tx:
                await insert_order(db, "2")
                tx.put("mail", b"never")
                raise KeyError
        async with mesh.transaction(db=db):
            async with mesh.transaction(db=db) as tx:
                tx.put("mail", b"inner")
            await insert_order(db, "3")


def _check(open_: Open, url: str) -> None:
    asyncio.run(_commit_and_roll_back(open_, prepared(url)))
    found = [(kind, target, domain, bytes(content)) for kind, target, domain, content in rows_of(url, ROWS)]
    assert found == [
        (2, "mail", "queue/mail", b"letter"),
        (0, "orders/1", "shop", b"paid"),
        (1, "client/joe", "", b"done"),
        (2, "mail", "queue/mail", b"inner"),
    ]
    assert rows_of(url, ORDERS) == [("1",), ("3",)]


@pytest.mark.parametrize("open_", SQLITE)
def test_messages_and_changes_are_committed_together_in_sqlite(open_: Open, tmp_path: Path) -> None:
    _check(open_, sqlite_url(tmp_path))


@pytest.mark.parametrize("open_", POSTGRES)
def test_messages_and_changes_are_committed_together_in_postgresql(
    open_: Open, postgres: PostgresServer
) -> None:
    _check(open_, postgres.database())


def test_a_row_has_its_id_as_a_header(tmp_path: Path) -> None:
    url = prepared(sqlite_url(tmp_path))

    async def scenario() -> None:
        async with sqlite3_connection(url) as db:
            async with mesh.transaction(db=db) as tx:
                tx.put("mail", "letter", headers={"lang": "en"}, priority=9, key="k")

    asyncio.run(scenario())
    ((row, data),) = rows_of(url, "SELECT message, properties FROM heronry_outbox")
    terms = read_terms(data)
    assert (terms.key, terms.put, terms.flags) == ("k", (9, 0, ""), 1)
    headers = decode_properties(terms.properties).headers
    assert (headers[ROW_HEADER], headers["lang"]) == (row, "en")


def _code(db: Any) -> str:
    async def scenario() -> None:
        async with mesh.transaction(db=db) as tx:
            tx.put("mail", b"letter")

    with pytest.raises(mesh.MeshError) as raised:
        asyncio.run(scenario())
    return raised.value.code


def test_a_connection_that_commits_each_statement_is_refused(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url, other = prepared(sqlite_url(tmp_path)), prepared(postgres.database())
    with closing(sqlite3.connect(tmp_path / "shop.db", isolation_level=None)) as db:
        assert _code(db) == "DB_AUTOCOMMIT"
    with psycopg.connect(other, autocommit=True) as connection:
        assert _code(connection) == "DB_AUTOCOMMIT"
    for engine in (
        sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT"),
        sqlalchemy.create_engine(url).execution_options(isolation_level="AUTOCOMMIT"),
    ):
        with engine.connect() as made:
            assert _code(made) == "DB_AUTOCOMMIT"
        engine.dispose()


def test_a_database_without_tables_and_one_of_another_version(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "empty.db")) as db:
        assert _code(db) == "DB_NO_TABLES"
    url = prepared(sqlite_url(tmp_path))
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        db.execute("UPDATE heronry_meta SET value = '99' WHERE name = 'version'")
        db.commit()
        assert _code(db) == "DB_VERSION"
    assert rows_of(url, ROWS) == []


def test_a_value_that_is_no_connection() -> None:
    assert _code(object()) == "BAD_ARGUMENT"


def test_equal_orders_use_one_stream(tmp_path: Path) -> None:
    url = prepared(sqlite_url(tmp_path))

    async def scenario() -> None:
        async with sqlite3_connection(url) as db:
            for name in ("", "a", "b", "a"):
                async with mesh.transaction(db=db, order_by=name) as tx:
                    tx.put("mail", b"letter")

    asyncio.run(scenario())
    streams = [stream for (stream,) in rows_of(url, "SELECT stream FROM heronry_outbox ORDER BY id")]
    assert streams[0] == 0 and streams[1] == streams[3]
