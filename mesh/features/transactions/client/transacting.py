"""The client's calls that begin a transaction, and ask for its outcome."""

from __future__ import annotations

from typing import Any, Protocol

from mesh.client.arguments import seconds
from mesh.client.posting import Posting
from mesh.errors import InDoubt, MeshTimeout
from mesh.features.transactions.client.database.database_operations import DatabaseOperations
from mesh.features.transactions.client.database.inbox import QueueInbox
from mesh.features.transactions.client.transaction import TIMEOUT, Transaction, TransactionOutcome


class Committed(Protocol):
    """A transaction whose block has ended, of this client or of a blocking one."""

    async def _outcome(self) -> TransactionOutcome: ...


class Transacting(Posting):
    """The client's calls for transactions."""

    def _job_database(self, queue: str, source: Any) -> QueueInbox:
        context = self._core.context
        return QueueInbox(queue, source, lambda: context.now)

    def transaction(self, *, timeout: float = TIMEOUT, db: Any = None, order_by: str = "") -> Transaction:
        """Return a transaction: the operations in its block take effect all together, or not at all.

        Args:
            timeout: Seconds until a missing answer raises InDoubt.
            db: A connection of a database with an outbox. The messages are committed with its changes.
            order_by: With `db`: messages with the same text are delivered in order.

        Raises:
            BadArgument: An argument is invalid.
            TransactionRefused: At the end of the block: nothing has happened.
            InDoubt: At the end of the block: all may have happened, or nothing.
            LocalError: The database has no outbox (DB_NO_TABLES, DB_VERSION), or commits each statement
                (DB_AUTOCOMMIT).

        Example:
            async with m.transaction() as tx:
                tx.ack(job)
                tx.put("invoices", invoice)
        """
        database = None if db is None else DatabaseOperations(db, order_by)
        return Transaction(self, seconds("timeout", timeout), database)

    async def outcome(self, tx: Committed, *, timeout: float | None = None) -> TransactionOutcome:
        """Return the outcome of a transaction after InDoubt: "committed" or "refused".

        A transaction that its node does not know is refused from then on.

        Args:
            tx: The transaction.
            timeout: Seconds until InDoubt. Default: the client's timeout.

        Raises:
            InDoubt: The outcome is not known in time, or expired.
            Closed: The block has not ended.

        Example:
            outcome = await m.outcome(tx)
        """
        try:
            return await self._within(timeout, tx._outcome)
        except MeshTimeout as error:
            raise InDoubt(f"The outcome is not known: {error.what}", hint="Ask again later.") from None
