"""Senders: deliver the rows of an outbox to the mesh."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from mesh.client.options import ConnectOptions
from mesh.errors import Closed, MeshError
from mesh.features.transactions.client.database.stream_client import StreamClient
from mesh.features.transactions.client.database.stream_sender import StreamSender
from mesh.features.transactions.database.opening import OpenDatabase, check_url, failed, open_database
from mesh.features.transactions.database.outbox_table import OutboxTable, StreamRow

T = TypeVar("T")

POLL = 0.2  # s between two looks at an outbox without rows
AGAIN = 1.0  # s until another attempt after a failure
LOG = logging.getLogger("mesh.client.outbox")


class OutboxSender:
    """A sender, created by `mesh.outbox`: while its block is open, it delivers the rows of the outbox.

    Example:
        async with mesh.outbox("postgresql:///shop"):
            await serve_forever()
    """

    def __init__(self, url: str, nodes: tuple[str, ...], options: dict[str, Any]) -> None:
        check_url(url)
        self._url, self._nodes, self._options = url, nodes, options
        self._name = str(uuid.uuid4())  # as the owner of streams
        self._woken = asyncio.Event()
        self._thread: ThreadPoolExecutor | None = None
        self._task: asyncio.Task[None] | None = None
        self._database: OpenDatabase | None = None
        self._streams: dict[int, StreamSender] = {}
        self._waiting: list[asyncio.Future[None]] = []  # for an empty outbox
        self._table: OutboxTable | None = None

    async def __aenter__(self) -> Self:
        if self._thread is not None:
            raise Closed("The sender was opened before.", hint="Create another one with mesh.outbox().")
        self._thread = ThreadPoolExecutor(1, "mesh-outbox")
        try:
            self._table = await self._opened()
        except BaseException:
            await self._hang_up()
            self._thread.shutdown()
            raise
        self._task = asyncio.create_task(self._send_always(), name="mesh outbox")
        self._task.add_done_callback(self._on_ended)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None and self._thread is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await self._hang_up()
        self._thread.shutdown()

    async def drained(self) -> None:
        """Wait until no row is left to be sent. Dead rows stay.

        Example:
            await asyncio.wait_for(outbox.drained(), 30)
        """
        if self._task is None or self._task.done():
            raise Closed("The sender is not open.", hint="Use it inside its `async with` block.")
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._woken.set()
        await waiting

    async def forever(self) -> None:
        """Wait for the end of the sender, which only a failure of the mesh itself ends.

        Raises: the failure.
        """
        if self._task is None:
            raise Closed("The sender is not open.", hint="Use it inside its `async with` block.")
        await asyncio.shield(self._task)

    def _on_ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            LOG.error("The sender of an outbox has ended.", exc_info=error)
        for each in self._waiting:
            if not each.done():
                each.set_exception(error or Closed("The sender was closed."))
        self._waiting.clear()

    # --- the loop ---------------------------------------------------------------------------------------

    async def _send_always(self) -> None:
        while True:
            try:
                has_more = await self._turn()
            except MeshError as error:
                LOG.warning("The outbox waits: %s", error)
                await asyncio.sleep(AGAIN)
                continue
            if has_more:
                await asyncio.sleep(0)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL):
                    await self._woken.wait()
            self._woken.clear()

    async def _turn(self) -> bool:
        """Send due rows of each stream, and return whether there may be more. Raises: MeshError."""
        errors = self._database.errors if self._database is not None else ()
        try:
            table = self._table or await self._opened()
            self._table = table
            asked = len(self._waiting)  # later ones may have written rows meanwhile
            due = await self._run(table.due)
            if not due:
                self._on_empty(asked)
            has_more = False
            owned = [number for number, each in self._streams.items() if each.is_owner]
            for number in sorted({*due, *owned}):
                if number not in self._streams:
                    self._streams[number] = StreamSender(
                        number, table, self._run, self._connected, time.monotonic
                    )
                has_more |= await self._streams[number].turn(number in due)
            return has_more
        except errors as error:
            await self._hang_up()
            raise failed(self._url, error) from error

    def _on_empty(self, count: int) -> None:
        waiting, self._waiting = self._waiting[:count], self._waiting[count:]
        for each in waiting:
            if not each.done():
                each.set_result(None)

    # --- database and sessions --------------------------------------------------------------------------

    async def _opened(self) -> OutboxTable:
        """Open the database. Raises: MeshError."""
        try:
            self._database = await self._run(open_database, self._url)
            table = OutboxTable(self._database, self._name)
            await self._run(table.check)
        except MeshError:
            raise
        except Exception as error:
            raise failed(self._url, error) from error
        return table

    async def _hang_up(self) -> None:
        """Close the sessions and the database, and release the streams if the database allows it."""
        owned = [number for number, each in self._streams.items() if each.is_owner]
        for each in self._streams.values():
            await each.leave()
        self._streams.clear()
        table, self._table = self._table, None
        database, self._database = self._database, None
        if database is None:
            return
        with suppress(database.errors):
            if owned and table is not None:
                await self._run(table.release, owned)
        with suppress(database.errors):
            await self._run(database.close)

    async def _connected(self, row: StreamRow) -> StreamClient:
        client = StreamClient(row, self._woken.set, self._nodes, self._options)
        await client.__aenter__()
        return client

    async def _run(self, function: Callable[..., T], *values: Any) -> T:
        """Run a function in the thread of the database."""
        assert self._thread is not None
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(*values))


def outbox(
    url: str, address: str | None = None, *others: str, **options: Unpack[ConnectOptions]
) -> OutboxSender:
    """Create a sender for the outbox in a database, to be used as a context manager.

    Several senders may run: one after the other has a stream, and takes over within 10 s.

    Args:
        url: `sqlite:///FILE`, or `postgresql://USER@HOST/DATABASE`.
        address: The node, as for `connect`.
        others: Further nodes, as for `connect`.
        options: The options of `connect`.

    Raises:
        BadArgument: The URL is invalid.
        NotAvailable: On entering: psycopg is missing.
        LocalError: On entering: the database failed (DB_FAILED), or has not the tables (DB_NO_TABLES,
            DB_VERSION).

    Example:
        async with mesh.outbox("postgresql:///shop"):
            await serve_forever()
    """
    return OutboxSender(url, () if address is None else (address, *others), dict(options))
