"""The inbox of a consumer: a row for each job, in the transaction of the job's effects."""

# Law 1: the row is inserted before the effects. Another consumer of the message waits for that transaction.
# Law 2: whether old rows were deleted is read after the insert, as both are committed together.

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from inspect import isawaitable
from typing import Any, Literal

from msgspec import Struct

from mesh.client.arguments import seconds
from mesh.client.core.delivered_envelope import DeliveredEnvelope
from mesh.client.job_database import JobStart
from mesh.client.message import Message
from mesh.errors import BadArgument
from mesh.features.transactions.client.database.database_operations import DatabaseBlock
from mesh.features.transactions.database.adapter import Adapter
from mesh.features.transactions.database.adapters import adapter_of, is_connection
from mesh.features.transactions.database.outbox_rows import ROW_HEADER
from mesh.features.transactions.database.schema import check_version
from mesh.features.transactions.model.inbox_rules import (
    EVERY,
    KEEP,
    InboxVerdict,
    inbox_key,
    inbox_verdict,
    is_deletion_due,
    is_held_long,
    kept_from,
)
from mesh.shortening import shown

Of = tuple[DeliveredEnvelope, int]
STARTS = {
    InboxVerdict.BEGIN: JobStart.RUN,
    InboxVerdict.DONE_BEFORE: JobStart.DONE_BEFORE,
    InboxVerdict.GIVE_BACK: JobStart.GIVE_BACK,
    InboxVerdict.UNKNOWN: JobStart.REJECT,
}


class DatabaseInbox:
    """The inbox in a database, with options: `q.consume(inbox=mesh.DatabaseInbox(pool, keep=86400))`.

    Args:
        source: A connection, a pool, or a callable that opens a connection for each job.
        keep: Seconds for which rows are kept. Default: 7 days.
        on_unknown: What happens to a redelivered job that is older than all rows, so it may have been done:
            "reject" moves it to the dead letters, "run" runs it.

    Raises:
        BadArgument: An argument is invalid.
    """

    def __init__(
        self, source: Any, *, keep: float = KEEP, on_unknown: Literal["reject", "run"] = "reject"
    ) -> None:
        if on_unknown not in ("reject", "run"):
            raise BadArgument(f"on_unknown={shown(on_unknown)} is invalid.", hint='Use "reject" or "run".')
        self.keep: float = seconds("keep", keep)
        self.runs_unknown: bool = on_unknown == "run"
        self.connection: Any = source
        self.opener: Callable[[], Any] | None = None
        if hasattr(source, "getconn"):  # a pool of psycopg
            self.opener = source.connection
        elif callable(source) and not is_connection(source):
            self.opener = source
        else:
            adapter_of(source)


class OpenJob(Struct, eq=False):
    """A job whose block is open."""

    adapter: Adapter
    block: DatabaseBlock
    stack: AsyncExitStack
    start: JobStart


class QueueInbox:
    """The inbox of one consumer of a queue. `now` is the client's monotonic clock, in s."""

    def __init__(self, queue: str, source: Any, now: Callable[[], float]) -> None:
        self._queue, self._now = queue, now
        self._source = source if isinstance(source, DatabaseInbox) else DatabaseInbox(source)
        self._open: dict[Of, OpenJob] = {}
        self._lock = asyncio.Lock()  # one job at a time on a blocking driver, or on one connection
        self._is_checked = False
        self._count = 0

    def connection(self, of: Of) -> Any:
        """Return the connection of a job whose block is open, else `None`."""
        found = self._open.get(of)
        return None if found is None else found.adapter.connection

    def is_done(self, of: Of) -> bool:
        """Return whether nothing is to be done for a job whose block is open."""
        found = self._open.get(of)
        return found is not None and found.start is not JobStart.RUN

    async def begin(self, job: Message[Any], of: Of, tries: int) -> JobStart:
        """Begin a transaction and insert the row of a job. Raises: LocalError, the driver's error."""
        async with AsyncExitStack() as stack:
            adapter = adapter_of(await self._connected(stack))
            if adapter.is_blocking or self._source.opener is None:
                await self._lock.acquire()
                stack.callback(self._lock.release)
            block = DatabaseBlock(adapter)
            await block.begin()
            stack.push_async_callback(block.rollback)
            start = STARTS[await self._verdict(adapter, job, of, tries)]
            if start in (JobStart.GIVE_BACK, JobStart.REJECT):
                await block.rollback()
            self._open[of] = OpenJob(adapter, block, stack.pop_all(), start)
        return start

    async def end(self, of: Of, is_failed: bool) -> None:
        """Commit the transaction of a job, or roll it back. Raises: the driver's error."""
        opened = self._open.get(of)
        if opened is None:
            return
        try:
            async with opened.stack:
                if not is_failed:
                    await self._delete_old(opened)
                    await opened.block.commit()
        finally:
            del self._open[of]

    # --- rows -------------------------------------------------------------------------------------------

    async def _connected(self, stack: AsyncExitStack) -> Any:
        """Return the connection for a job; it is closed with the stack if it was opened for the job."""
        if self._source.opener is None:
            return self._source.connection
        opened = self._source.opener()
        if isawaitable(opened) and not hasattr(opened, "__aenter__"):
            opened = await opened
        if hasattr(opened, "__aenter__"):
            return await stack.enter_async_context(opened)
        if type(opened).__module__ == "sqlite3":  # its context is a transaction
            return stack.enter_context(closing(opened))
        return stack.enter_context(opened)

    async def _verdict(self, adapter: Adapter, job: Message[Any], of: Of, tries: int) -> InboxVerdict:
        if not self._is_checked:
            await check_version(adapter)
            self._is_checked = True
        envelope = of[0].batch._envelope
        key = inbox_key(envelope.stream, job.id, job.headers.get(ROW_HEADER))
        inserted = await adapter.execute(
            "INSERT INTO heronry_inbox (queue, message) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING queue",
            (self._queue, key),
        )
        may_be_deleted = False
        if inserted and tries and not self._source.runs_unknown:
            may_be_deleted = envelope.sent // 1000 < await self._kept_from(adapter)
        held = self._now() - of[0].arrived
        return inbox_verdict(
            has_row=not inserted,
            is_row_open=False,  # the insert has waited for that transaction
            is_redelivered=tries > 0,
            may_be_deleted=may_be_deleted,
            is_held_long=is_held_long(held, self._source.keep),
        )

    @property
    def _kept_name(self) -> str:
        return f"kept_from/{self._queue}"

    async def _kept_from(self, adapter: Adapter) -> int:
        sql = "SELECT value FROM heronry_meta WHERE name = ?"
        found = await adapter.execute(sql, (self._kept_name,))
        return int(found[0][0]) if found else 0

    async def _delete_old(self, opened: OpenJob) -> None:
        """Delete old rows with each 1,000th job, in its transaction, and note since when rows are kept."""
        self._count += opened.start is JobStart.RUN
        if opened.start is not JobStart.RUN or not is_deletion_due(self._count):
            return
        before = kept_from(time.time_ns() // 1000, self._source.keep)
        execute = opened.adapter.execute
        old = await execute(
            "SELECT message FROM heronry_inbox WHERE queue = ? AND done < ? ORDER BY done LIMIT ?",
            (self._queue, before, EVERY),
        )
        if not old:
            return
        marks = ", ".join(["?"] * len(old))
        values = (self._queue, *(message for (message,) in old))
        await execute(f"DELETE FROM heronry_inbox WHERE queue = ? AND message IN ({marks})", values)
        await execute(
            "INSERT INTO heronry_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value",
            (self._kept_name, str(before)),
        )
