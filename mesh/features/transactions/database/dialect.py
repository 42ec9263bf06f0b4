"""The differences of SQLite and PostgreSQL, and of the placeholders of drivers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

from mesh.errors import NotAvailable


class Dialect(NamedTuple):
    """The types of a database in the tables of an outbox, and its clock in µs since 1970."""

    name: str
    identity: str
    integer: str
    binary: str
    uuid: str
    clock: str
    lock: str  # at the end of a SELECT


SQLITE = Dialect(
    "sqlite",
    identity="INTEGER PRIMARY KEY AUTOINCREMENT",
    integer="INTEGER",
    binary="BLOB",
    uuid="TEXT",
    clock="CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
    lock="",
)
POSTGRESQL = Dialect(
    "postgresql",
    identity="bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    integer="bigint",
    binary="bytea",
    uuid="uuid",
    clock="CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
    lock=" FOR UPDATE",
)
DIALECTS = {each.name: each for each in (SQLITE, POSTGRESQL)}


def dialect_named(name: str) -> Dialect:
    """Return the dialect of a database. Raises: NotAvailable for another database."""
    if name not in DIALECTS:
        hint = "Use SQLite or PostgreSQL."
        raise NotAvailable(f"Outbox and inbox do not support the database {name!r}.", hint=hint)
    return DIALECTS[name]


def pairs_table(dialect: Dialect, pairs: Sequence[tuple[int, int]]) -> tuple[str, list[Any]]:
    """Return the SQL of a table `v` with `column1` and `column2`, and its values.

    In PostgreSQL these are two arrays, as many single values take longer to plan than to execute.
    """
    if dialect is POSTGRESQL:
        arrays = "unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) AS v(column1, column2)"
        return arrays, [[one for one, _ in pairs], [other for _, other in pairs]]
    return f"(VALUES {', '.join(['(?, ?)'] * len(pairs))}) AS v", [each for pair in pairs for each in pair]


def placed(sql: str, placeholder: Callable[[int], str]) -> str:
    """Return a statement with the placeholders of a driver for each `?`; the first one has the number 1."""
    numbers = count(1)
    first, *others = sql.split("?")
    return first + "".join(placeholder(next(numbers)) + other for other in others)


PLACEHOLDERS: dict[str, Callable[[int], str]] = {
    "qmark": lambda _: "?",
    "format": lambda _: "%s",
    "pyformat": lambda _: "%s",
    "numeric": lambda n: f":{n}",
    "numeric_dollar": lambda n: f"${n}",
}
