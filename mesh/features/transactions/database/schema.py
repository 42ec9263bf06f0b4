"""The tables of outbox and inbox, and their versions."""

# Law 1: each version is made in one transaction, which also writes its number.
# Law 2: tables of another version are never used.

from __future__ import annotations

import secrets
from collections.abc import Callable

from mesh.errors import LocalError
from mesh.features.transactions.database.adapter import Adapter
from mesh.features.transactions.database.dialect import Dialect
from mesh.features.transactions.model.outbox_rules import STREAMS
from mesh.security.streamkey import STREAM_SEED

VERSION = 1
INIT = "mesh tx init-db URL"


def _first(d: Dialect) -> tuple[str, ...]:
    """Return the statements of version 1. Times are in µs since 1970."""
    return (
        "CREATE TABLE heronry_meta (name text PRIMARY KEY, value text NOT NULL)",
        "CREATE TABLE heronry_stream (stream smallint PRIMARY KEY, "
        f"seed {d.binary} NOT NULL, token {d.binary}, attach {d.integer} NOT NULL DEFAULT 0, "
        f"next {d.integer} NOT NULL DEFAULT 1, owner text, until {d.integer} NOT NULL DEFAULT 0)",
        f"CREATE TABLE heronry_outbox (id {d.identity}, message {d.uuid} NOT NULL, "
        f"stream smallint NOT NULL, number {d.integer}, kind smallint NOT NULL, target text NOT NULL, "
        f"domain text NOT NULL DEFAULT '', properties {d.binary} NOT NULL, content {d.binary} NOT NULL, "
        f"created {d.integer} NOT NULL DEFAULT ({d.clock}), error text, UNIQUE (stream, number))",
        "CREATE INDEX heronry_outbox_new ON heronry_outbox (stream, id) "
        "WHERE number IS NULL AND error IS NULL",
        "CREATE TABLE heronry_inbox (queue text, message text, "
        f"done {d.integer} NOT NULL DEFAULT ({d.clock}), PRIMARY KEY (queue, message))",
        "CREATE INDEX heronry_inbox_done ON heronry_inbox (queue, done)",
        "INSERT INTO heronry_meta VALUES ('version', '1')",
    )


# The statements that make each version of the one before.
MIGRATIONS: dict[int, Callable[[Dialect], tuple[str, ...]]] = {1: _first}


def statements(dialect: Dialect, since: int = 0) -> list[str]:
    """Return the statements that make this release's version of the version `since`; 0: no tables."""
    return [each for version in range(since + 1, VERSION + 1) for each in MIGRATIONS[version](dialect)]


async def version_of(adapter: Adapter) -> int:
    """Return the version of the tables in a database; 0: there are none."""
    if not await _has_tables(adapter):
        return 0
    ((value,),) = await adapter.execute("SELECT value FROM heronry_meta WHERE name = 'version'")
    return int(value)


async def _has_tables(adapter: Adapter) -> bool:
    if adapter.dialect.name == "sqlite":
        sql = "SELECT 1 FROM sqlite_master WHERE name = 'heronry_meta'"
    else:
        sql = "SELECT 1 WHERE to_regclass('heronry_meta') IS NOT NULL"
    return bool(await adapter.execute(sql))


async def check_version(adapter: Adapter) -> None:
    """Raise LocalError DB_NO_TABLES or DB_VERSION if the database has not the tables of this release."""
    found = await version_of(adapter)
    if not found:
        text = "The database has no tables for outbox and inbox."
        raise LocalError(text, hint=f"Create them:  {INIT}", code="DB_NO_TABLES")
    if found != VERSION:
        raise wrong_version(found)


def wrong_version(found: int) -> LocalError:
    what = f"The tables of outbox and inbox have version {found}, and this release needs version {VERSION}."
    hint = f"Migrate them:  {INIT}" if found < VERSION else "Use the newer release that made them."
    return LocalError(what, hint=hint, code="DB_VERSION")


async def migrate(adapter: Adapter) -> int:
    """Create or migrate the tables, and return the version that they had. Raises: LocalError DB_VERSION."""
    found = await version_of(adapter)
    await adapter.rollback()
    if found > VERSION:
        raise wrong_version(found)
    for version in range(found + 1, VERSION + 1):
        await adapter.begin()
        try:
            for statement in MIGRATIONS[version](adapter.dialect):
                await adapter.execute(statement)
            if version == 1:
                await _add_streams(adapter)
            await adapter.commit()
        except BaseException:
            await adapter.rollback()
            raise
    return found


async def _add_streams(adapter: Adapter) -> None:
    """Add the streams, each with a key of its own, so that each sender has the same stream ids."""
    for stream in range(STREAMS):
        values = (stream, secrets.token_bytes(STREAM_SEED))
        await adapter.execute("INSERT INTO heronry_stream (stream, seed) VALUES (?, ?)", values)
