"""The statements of a sender: the lease of a stream, numbers of rows, and their end."""

# Law 1: each method is one transaction. Numbers are given in one that first locks the row of the stream.
# Law 2: a row is deleted by its number, so that another sender's repeated delete changes nothing.

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from mesh.features.transactions.database.adapter import Row, drive
from mesh.features.transactions.database.dialect import pairs_table
from mesh.features.transactions.database.opening import OpenDatabase
from mesh.features.transactions.database.schema import check_version
from mesh.features.transactions.model.outbox_rules import first_number, may_use_stream, next_attach, numbered

LEASE = 10.0  # s
_MINE = "stream = ? AND owner = ?"


class StreamRow(NamedTuple):
    """The row of a stream, just taken by a sender."""

    seed: bytes
    token: bytes
    attach: int


class StoredMessage(NamedTuple):
    """A row with a number."""

    number: int
    kind: int
    target: str
    domain: str
    properties: bytes
    content: bytes


class Batch(NamedTuple):
    """The next number of a stream, how many rows got one, whether a restore was found, and rows to send."""

    left_at: int
    numbered: int
    is_restored: bool
    rows: list[StoredMessage]


class OutboxTable:
    """The outbox in an open database, for the sender `owner`. Used by one thread at a time."""

    def __init__(self, database: OpenDatabase, owner: str) -> None:
        self._database, self._owner = database, owner
        self._clock, self._lock = database.adapter.dialect.clock, database.adapter.dialect.lock

    def _run(self, sql: str, *values: Any) -> list[Row]:
        return drive(self._database.adapter.execute(sql, values))

    def _read(self, sql: str, *values: Any) -> list[Row]:
        """Return the rows of a query, in a transaction of its own, which locks nothing."""
        found = self._run(sql, *values)
        drive(self._database.adapter.rollback())
        return found

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        adapter = self._database.adapter
        drive(adapter.begin())
        try:
            yield
            drive(adapter.commit())
        except BaseException:
            with suppress(self._database.errors):  # the connection is lost, and its transaction with it
                drive(adapter.rollback())
            raise

    def check(self) -> None:
        """Raise LocalError DB_NO_TABLES or DB_VERSION if the tables are not those of this release."""
        drive(check_version(self._database.adapter))
        drive(self._database.adapter.rollback())

    def due(self) -> list[int]:
        """Return the streams that have rows to send.

        With EXISTS, PostgreSQL would read all rows.
        """
        row = "SELECT 1 FROM heronry_outbox o WHERE o.stream = s.stream AND"
        found = self._read(
            "SELECT stream FROM heronry_stream s WHERE "
            f"({row} number IS NOT NULL ORDER BY number LIMIT 1) = 1 OR "
            f" ({row} number IS NULL AND error IS NULL ORDER BY id LIMIT 1) = 1 ORDER BY stream"
        )
        return [stream for (stream,) in found]

    # --- the lease --------------------------------------------------------------------------------------

    def take(self, stream: int) -> StreamRow | None:
        """Take a stream without an owner, or whose lease is over; `None` if another sender has it."""
        with self._transaction():
            found = self._run(
                f"UPDATE heronry_stream SET owner = ?, until = {self._clock} + ? WHERE stream = ? "
                f"AND (owner = ? OR owner IS NULL OR until < {self._clock}) "
                f"RETURNING seed, token, attach, {self._clock}",
                *(self._owner, int(LEASE * 1e6), stream, self._owner),
            )
            if not found:
                return None
            seed, token, attach, clock = found[0]
            attach = next_attach(attach, clock)
            self._run("UPDATE heronry_stream SET attach = ? WHERE stream = ?", attach, stream)
        return StreamRow(bytes(seed), bytes(token or b""), attach)

    def renew(self, stream: int) -> bool:
        """Renew the lease of a stream, and return whether this sender still owns it."""
        until = f"until = {self._clock} + ?"
        with self._transaction():
            sql = f"UPDATE heronry_stream SET {until} WHERE {_MINE} RETURNING stream"
            return bool(self._run(sql, int(LEASE * 1e6), stream, self._owner))

    def release(self, streams: Sequence[int]) -> None:
        with self._transaction():
            for stream in streams:
                self._run(f"UPDATE heronry_stream SET owner = NULL WHERE {_MINE}", stream, self._owner)

    def set_token(self, stream: int, token: bytes) -> None:
        """Store the session of the stream, which the next sender resumes; empty: none."""
        with self._transaction():
            self._run(f"UPDATE heronry_stream SET token = ? WHERE {_MINE}", token, stream, self._owner)

    # --- rows -------------------------------------------------------------------------------------------

    def next_batch(
        self,
        stream: int,
        settled: Sequence[tuple[int, int]],
        left_at: int,
        above: int,
        most: int,
        is_lease_over: Callable[[], bool],
    ) -> Batch | None:
        """Delete settled rows, number new ones in the order of their ids, and return rows to send.

        These are at most `most` with numbers above `above`, in order. `None` if this sender may not use the
        stream any more. `is_lease_over` is asked once the row of the stream is locked, which may take long.
        """
        with self._transaction():
            self._delete(stream, settled)
            sql = f"SELECT next, {self._clock}, owner FROM heronry_stream WHERE stream = ?{self._lock}"
            ((next_number, clock, owner),) = self._run(sql, stream)
            if not may_use_stream(owner, self._owner, is_lease_over()):
                return None
            new = self._run(
                "SELECT id, domain FROM heronry_outbox WHERE stream = ? AND number IS NULL "
                "AND error IS NULL ORDER BY id LIMIT ?",
                *(stream, most),
            )
            is_restored = next_number < left_at
            if new:
                first = first_number(next_number, clock, left_at)
                self._write_numbers(numbered([(id_, domain) for id_, domain in new], first))
                left_at = first + len(new)
                self._run("UPDATE heronry_stream SET next = ? WHERE stream = ?", left_at, stream)
            rows = self._load(stream, above, most)
        return Batch(left_at, len(new), is_restored, rows)

    def _write_numbers(self, numbers: Sequence[tuple[int, int]]) -> None:
        pairs, values = pairs_table(self._database.adapter.dialect, numbers)
        ids = [id_ for _, id_ in numbers]
        # Without the range, PostgreSQL reads the whole table.
        self._run(
            f"UPDATE heronry_outbox SET number = v.column1 FROM {pairs} "
            "WHERE heronry_outbox.id = v.column2 AND heronry_outbox.id BETWEEN ? AND ?",
            *(*values, min(ids), max(ids)),
        )

    def _load(self, stream: int, above: int, most: int) -> list[StoredMessage]:
        found = self._run(
            "SELECT number, kind, target, domain, properties, content FROM heronry_outbox "
            "WHERE stream = ? AND number > ? ORDER BY number LIMIT ?",
            *(stream, above, most),
        )
        return [
            StoredMessage(number, kind, target, domain, bytes(properties), bytes(content))
            for number, kind, target, domain, properties, content in found
        ]

    def lowest(self, stream: int) -> int:
        """Return the lowest number in the table; 0 if no row has a number."""
        sql = "SELECT number FROM heronry_outbox WHERE stream = ? AND number > 0 ORDER BY number LIMIT 1"
        found = self._read(sql, stream)
        return int(found[0][0]) if found else 0

    def highest(self, stream: int) -> int:
        """Return the highest number in the table; 0 if no row has a number."""
        ((found,),) = self._read("SELECT max(number) FROM heronry_outbox WHERE stream = ?", stream)
        return found or 0

    def delete(self, stream: int, settled: Sequence[tuple[int, int]]) -> None:
        """Delete the rows with these ranges of numbers, whose final answer is positive."""
        with self._transaction():
            self._delete(stream, settled)

    def _delete(self, stream: int, settled: Sequence[tuple[int, int]]) -> None:
        for first, last in settled:
            sql = "DELETE FROM heronry_outbox WHERE stream = ? AND number BETWEEN ? AND ?"
            self._run(sql, stream, first, last)

    def refuse(self, stream: int, number: int, error: str | None) -> None:
        """Take a refused number from its row, which is dead by `error`; `None`: it gets another number."""
        with self._transaction():
            sql = "UPDATE heronry_outbox SET number = NULL, error = ? WHERE stream = ? AND number = ?"
            self._run(sql, error, stream, number)
