"""The hand-written part of transactions: they begin and end in the client's thread, or in the user's."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from mesh.features.transactions.client import transaction
from mesh.features.transactions.database.adapter import drive
from mesh.sync.thread import LoopThread

T = TypeVar("T")


class ThreadTransaction:
    """Settlements and messages that the node accepts all together when the block ends, or refuses all.

    The operations do no I/O; bad arguments raise immediately. An exception in the block drops all of them.

    Example:
        with m.transaction() as tx:
            tx.ack(job)
            tx.put("invoices", invoice)
            tx.publish("orders/42", "done")
    """

    def __init__(self, client: object, thread: LoopThread, made: transaction.Transaction) -> None:
        self._client = client  # keeps the client open
        self._thread, self._aio = thread, made

    def __enter__(self) -> Self:
        self._run(None, self._aio.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(None, lambda: self._aio.__aexit__(kind, error, trace))

    def _run(self, timeout: float | None, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a function in the client's thread. Its limit is that of the transaction.

        With a database it runs in the caller's thread, which opened the connection.
        """
        if self._aio._database is not None:
            return drive(function())
        return self._thread.run(function)

    async def _outcome(self) -> transaction.TransactionOutcome:
        return await self._aio._outcome()
