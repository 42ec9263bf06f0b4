"""Each supported driver, with a connection of an empty database."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from mesh.features.transactions.database.adapter import drive
from mesh.features.transactions.database.opening import open_database
from mesh.features.transactions.database.schema import migrate

Opened = AbstractAsyncContextManager[Any]
Open = Callable[[str], Opened]


def prepared(url: str) -> str:
    """Create the tables of an outbox, and a table of the user, and return the URL."""
    database = open_database(url)
    drive(migrate(database.adapter))
    drive(database.adapter.execute("CREATE TABLE orders (name text)"))
    drive(database.adapter.commit())
    database.close()
    return url


def rows_of(url: str, sql: str) -> list[tuple[Any, ...]]:
    database = open_database(url)
    try:
        return drive(database.adapter.execute(sql))
    finally:
        database.close()


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder}/shop.db"


def _driver(url: str, driver: str) -> str:
    kind, _, rest = url.partition("://")
    return f"{kind.replace('postgres:', 'postgresql:')}+{driver}://{rest}"


@asynccontextmanager
async def sqlite3_connection(url: str) -> AsyncIterator[Any]:
    db = sqlite3.connect(url.removeprefix("sqlite:///"))
    yield db
    db.close()


@asynccontextmanager
async def psycopg_connection(url: str) -> AsyncIterator[Any]:
    with psycopg.connect(url) as db:
        yield db


@asynccontextmanager
async def psycopg_async(url: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(url) as db:
        yield db


@asynccontextmanager
async def alchemy_connection(url: str) -> AsyncIterator[Any]:
    engine = sqlalchemy.create_engine(url if url.startswith("sqlite") else _driver(url, "psycopg"))
    with engine.connect() as db:
        yield db
    engine.dispose()


@asynccontextmanager
async def alchemy_session(url: str) -> AsyncIterator[Any]:
    engine = sqlalchemy.create_engine(url if url.startswith("sqlite") else _driver(url, "psycopg"))
    with Session(engine) as db:
        yield db
    engine.dispose()


@asynccontextmanager
async def alchemy_async(url: str) -> AsyncIterator[Any]:
    engine = create_async_engine(_driver(url, "aiosqlite" if url.startswith("sqlite") else "psycopg"))
    async with engine.connect() as db:
        yield db
    await engine.dispose()


@asynccontextmanager
async def alchemy_async_session(url: str) -> AsyncIterator[Any]:
    engine = create_async_engine(_driver(url, "aiosqlite" if url.startswith("sqlite") else "psycopg"))
    async with AsyncSession(engine) as db:
        yield db
    await engine.dispose()


ALCHEMY: tuple[Open, ...] = (alchemy_connection, alchemy_session, alchemy_async, alchemy_async_session)
SQLITE: tuple[Open, ...] = (sqlite3_connection, *ALCHEMY)
POSTGRES: tuple[Open, ...] = (psycopg_connection, psycopg_async, *ALCHEMY)


async def insert_order(db: Any, name: str) -> None:
    """Insert a row of the user, as programs with this driver do it."""
    sql = f"INSERT INTO orders VALUES ('{name}')"
    said = db.execute(sqlalchemy.text(sql) if type(db).__module__.startswith("sqlalchemy") else sql)
    if hasattr(said, "__await__"):
        await said
