"""Outboxes without an event loop: transactions of a database, and senders.

Both are written by hand: a transaction runs in the user's thread, as its connection does.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, Unpack

from mesh.client.codecs import Codec
from mesh.client.options import ConnectOptions
from mesh.features.transactions.client.database import outbox as aio
from mesh.features.transactions.client.database import writing
from mesh.sync.thread import LoopThread
from mesh.sync.transacting import Transaction


def transaction(*, db: Any, order_by: str = "", codec: Codec | str = "json") -> Transaction:
    """Return a transaction of a database, for a program without a connection to the mesh.

    Arguments and errors are those of `mesh.transaction`; the connection is of a blocking driver.

    Example:
        with mesh.sync.transaction(db=conn) as tx:
            conn.execute("UPDATE orders SET paid = true WHERE id = 42")
            tx.put("mail", text)
    """
    return Transaction(None, LoopThread(), writing.transaction(db=db, order_by=order_by, codec=codec))


class OutboxSender:
    """A sender, created by `mesh.sync.outbox`: while its block is open, it delivers rows of the outbox."""

    def __init__(self, made: aio.OutboxSender) -> None:
        self._aio, self._thread = made, LoopThread()

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._thread.run(self._aio.__aenter__)
        except BaseException:
            self._thread.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._thread.run(self._aio.__aexit__, kind, error, trace)
        finally:
            self._thread.close()

    def drained(self) -> None:
        """Wait until no row is left to be sent. Dead rows stay."""
        self._thread.run(self._aio.drained)

    def forever(self) -> None:
        """Wait for the end of the sender, which only a failure of the mesh itself ends.

        Raises: the failure.
        """
        self._thread.run(self._aio.forever)


def outbox(
    url: str, address: str | None = None, *others: str, **options: Unpack[ConnectOptions]
) -> OutboxSender:
    """Create a sender for the outbox in a database. Arguments and errors are those of `mesh.outbox`.

    Example:
        with mesh.sync.outbox("postgresql:///shop"):
            serve_forever()
    """
    return OutboxSender(aio.outbox(url, address, *others, **options))
