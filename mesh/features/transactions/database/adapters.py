"""The adapters of sqlite3, psycopg and SQLAlchemy. None imports its driver: the user's connection did."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from inspect import isawaitable
from typing import Any

from mesh.errors import BadType
from mesh.features.transactions.database.adapter import Adapter, Row, autocommit
from mesh.features.transactions.database.dialect import (
    PLACEHOLDERS,
    POSTGRESQL,
    SQLITE,
    Dialect,
    dialect_named,
    placed,
)
from mesh.shortening import shown

IDLE = 0  # of libpq: the connection is in no transaction


class SqliteAdapter:
    """A connection of sqlite3."""

    dialect = SQLITE
    is_blocking = True

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        # From Python 3.12 on, a connection may be in a transaction always.
        self._is_always = getattr(connection, "autocommit", -1) is False

    def is_begun(self) -> bool:
        return bool(self.connection.in_transaction) and not self._is_always

    async def begin(self) -> None:
        if self._is_always:
            return
        if self.connection.isolation_level is None or getattr(self.connection, "autocommit", -1) is True:
            raise autocommit()
        # A transaction that reads first cannot write after another one has written.
        self.connection.execute("BEGIN IMMEDIATE")

    async def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self.connection.cursor()
        cursor.row_factory = None
        cursor.execute(sql, values)
        return cursor.fetchall() if cursor.description else []

    async def commit(self) -> None:
        self.connection.commit()

    async def rollback(self) -> None:
        self.connection.rollback()


class PsycopgAdapter:
    """A connection of psycopg, blocking or asynchronous."""

    dialect = POSTGRESQL

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        psycopg = sys.modules["psycopg"]
        self.is_blocking = not isinstance(connection, psycopg.AsyncConnection)
        self._row_factory = psycopg.rows.tuple_row

    def is_begun(self) -> bool:
        return bool(self.connection.info.transaction_status != IDLE)

    async def begin(self) -> None:
        if self.connection.autocommit:
            raise autocommit()

    async def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self.connection.cursor(row_factory=self._row_factory)
        await _result(cursor.execute(placed(sql, PLACEHOLDERS["format"]), values))
        return await _result(cursor.fetchall()) if cursor.description else []

    async def commit(self) -> None:
        await _result(self.connection.commit())

    async def rollback(self) -> None:
        await _result(self.connection.rollback())


class SqlAlchemyAdapter:
    """A Connection, Session, AsyncConnection or AsyncSession of SQLAlchemy 2, which begins by itself."""

    def __init__(self, connection: Any, is_blocking: bool) -> None:
        self.connection, self.is_blocking = connection, is_blocking
        bind = connection.get_bind() if hasattr(connection, "get_bind") else connection
        bind = getattr(bind, "sync_connection", bind)
        self._engine = bind
        self.dialect: Dialect = dialect_named(bind.dialect.name)
        self._placeholder = PLACEHOLDERS[bind.dialect.paramstyle]

    def is_begun(self) -> bool:
        return bool(self.connection.in_transaction())

    async def begin(self) -> None:
        options = self._engine.get_execution_options()
        fixed = getattr(self._engine.dialect, "_on_connect_isolation_level", None)
        if "AUTOCOMMIT" in (options.get("isolation_level"), fixed):
            raise autocommit()

    async def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        connection = self.connection
        if hasattr(connection, "get_bind"):  # a session
            connection = await _result(connection.connection())
        text = placed(sql, self._placeholder)
        result = await _result(connection.exec_driver_sql(text, tuple(values)))
        return [tuple(row) for row in result.fetchall()] if result.returns_rows else []

    async def commit(self) -> None:
        await _result(self.connection.commit())

    async def rollback(self) -> None:
        await _result(self.connection.rollback())


def adapter_of(connection: Any) -> Adapter:
    """Return the adapter of a connection. Raises: BadType for anything else, NotAvailable."""
    if _is(connection, "sqlite3", "Connection"):
        return SqliteAdapter(connection)
    if _is(connection, "psycopg", "Connection", "AsyncConnection"):
        return PsycopgAdapter(connection)
    if _is(connection, "sqlalchemy", "Connection") or _is(connection, "sqlalchemy.orm", "Session"):
        return SqlAlchemyAdapter(connection, is_blocking=True)
    if _is(connection, "sqlalchemy.ext.asyncio", "AsyncConnection", "AsyncSession"):
        return SqlAlchemyAdapter(connection, is_blocking=False)
    raise BadType(
        f"{shown(connection)} is not a connection of a database.",
        hint="Pass a connection of sqlite3 or psycopg, or a Connection or Session of SQLAlchemy 2.",
    )


def is_connection(value: Any) -> bool:
    """Return whether a value is a connection of a supported driver."""
    try:
        adapter_of(value)
    except BadType:
        return False
    return True


def _is(connection: Any, module: str, *names: str) -> bool:
    """Return whether a connection is of a class of a module, which is imported if there is such an object."""
    found = sys.modules.get(module)
    return found is not None and any(isinstance(connection, getattr(found, name)) for name in names)


async def _result(value: Any) -> Any:
    return await value if isawaitable(value) else value
