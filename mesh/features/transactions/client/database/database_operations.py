"""The messages of a transaction in a user's database: rows, which a sender delivers after the commit."""

# Law 1: the rows are inserted at the end of the block, in the transaction of the user's changes.
# Law 2: whoever begins the transaction of a connection commits it: a block inside another one only inserts.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from mesh.client.content import as_headers
from mesh.client.core.accumulator import PutTerms
from mesh.errors import BadArgument, Closed, MessageTooLarge
from mesh.features.transactions.database.adapter import Adapter
from mesh.features.transactions.database.adapters import adapter_of
from mesh.features.transactions.database.outbox_rows import (
    PUBLISH,
    PUT,
    ROW_HEADER,
    SEND,
    OutboxRow,
    Terms,
    insert_rows,
)
from mesh.features.transactions.database.schema import check_version
from mesh.features.transactions.model.outbox_rules import stream_of
from mesh.names import PUTS
from mesh.values import Headers
from mesh.wire.envelope import PERSISTENT
from mesh.wire.limits import TRANSACTION_OPERATIONS

_begun: set[int] = set()  # ids of the connections whose transaction an open block has begun


class DatabaseBlock:
    """A block on a connection: it begins a transaction and ends it, unless the connection is in one."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._is_outer = False

    async def begin(self) -> None:
        """Begin a transaction, or join the open one. Raises: LocalError DB_AUTOCOMMIT, the driver's error."""
        adapter = self.adapter
        if id(adapter.connection) in _begun or adapter.is_begun():
            return
        await adapter.begin()
        self._is_outer = True
        _begun.add(id(adapter.connection))

    async def commit(self) -> None:
        """Commit, if this block began the transaction. After a failure it is rolled back."""
        if not self._is_outer:
            return
        try:
            await self.adapter.commit()
        except BaseException:
            await self.rollback()
            raise
        self._end()

    async def rollback(self) -> None:
        """Roll back, if this block began the transaction."""
        if self._is_outer:
            self._end()
            await self.adapter.rollback()

    def _end(self) -> None:
        self._is_outer = False
        _begun.discard(id(self.adapter.connection))


class DatabaseOperations:
    """The messages of one transaction, until they are inserted as rows."""

    def __init__(self, db: Any, order_by: str) -> None:
        if not isinstance(order_by, str):
            raise BadArgument("order_by must be a str, such as the name of a customer.")
        self.adapter: Adapter = adapter_of(db)
        self._stream = stream_of(order_by)
        self._block: DatabaseBlock | None = None
        self._rows: list[OutboxRow] = []
        self._id = ""  # of the next row

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the next message, with the id of its row as a header."""
        self._id = str(uuid4())
        items = as_headers(given.get("headers")).items()
        return {**given, "headers": Headers([(ROW_HEADER, self._id), *items])}

    def add_message(
        self, domain: str, flags: int, to: str, put: PutTerms, xml: str,
        key: str, content: bytes, props: bytes, expires: int,
    ) -> None:  # fmt: skip
        """Add a message, checked before, whose options `options` returned. Raises: MessageTooLarge."""
        if len(self._rows) >= TRANSACTION_OPERATIONS:
            what = f"The transaction has {TRANSACTION_OPERATIONS:,} operations, which is the limit."
            raise MessageTooLarge(what, hint="Use several transactions.")
        if not to:
            kind, target, key = PUBLISH, key, ""
        elif domain.startswith(PUTS):
            kind, target = PUT, domain.removeprefix(PUTS)
        else:
            kind, target = SEND, to
        terms = Terms(flags | PERSISTENT, key, props, expires, put, xml)
        self._rows.append(OutboxRow(self._id, kind, target, domain, terms, content))

    async def begin(self) -> None:
        """Begin the transaction of the database. Raises: LocalError DB_AUTOCOMMIT."""
        if self._block is not None:
            raise Closed("The transaction was begun before.", hint="Create another one.")
        self._block = DatabaseBlock(self.adapter)
        await self._block.begin()

    async def end(self, is_failed: bool) -> None:
        """Insert the rows and commit, or roll back.

        Raises: LocalError DB_NO_TABLES or DB_VERSION, the driver's error.
        """
        assert self._block is not None
        rows, self._rows = self._rows, []
        if is_failed:
            await self._block.rollback()
            return
        try:
            if rows:
                await check_version(self.adapter)
                await insert_rows(self.adapter, self._stream, rows)
        except BaseException:
            await self._block.rollback()
            raise
        await self._block.commit()
