"""Transactions without an event loop.

Generated from mesh/features/transactions/client/transacting.py and
mesh/features/transactions/client/transaction.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from typing import Any, Unpack

from mesh.client.content import Content
from mesh.client.options import PublishOptions, PutOptions, SendOptions
from mesh.features.transactions.client.transacting import Committed
from mesh.features.transactions.client.transaction import TIMEOUT, TransactionOutcome
from mesh.sync.connected import Connected
from mesh.sync.transactions import ThreadTransaction
from mesh.values import Published


class Transaction(ThreadTransaction):
    """Settlements and messages that the node accepts all together when the block ends, or refuses all.

    The operations do no I/O; bad arguments raise immediately. An exception in the block drops all of them.

    Example:
        with m.transaction() as tx:
            tx.ack(job)
            tx.put("invoices", invoice)
            tx.publish("orders/42", "done")
    """

    @property
    def results(self) -> list[Published]:
        """The answers to the messages, in the order of the calls. Raises: Closed before the commit.

        With a database there are none, as its sender receives the answers.
        """
        return self._aio.results

    def ack(self, job: Any) -> None:
        """Acknowledge a delivery of a queue.

        Args:
            job: The delivery.

        Raises:
            LocalError: The message was settled before (SETTLED), or another job of the transaction was
                delivered by another node (TWO_NODES).
            LeaseOver: The message is no longer this consumer's.
            BadArgument: `job` is no delivery of this client.
            MessageTooLarge: The transaction has too many operations.

        Example:
            tx.ack(job)
        """
        return self._aio.ack(job)

    def nack(self, job: Any, *, delay: float = 0.0) -> None:
        """Return a delivery to its queue, to be delivered again, as `Delivery.nack` does.

        Args:
            job: The delivery.
            delay: Seconds until the redelivery, at least. Default: 0.

        Raises:
            LocalError, LeaseOver, BadArgument, MessageTooLarge: As for `ack`.

        Example:
            tx.nack(job, delay=5)
        """
        return self._aio.nack(job, delay=delay)

    def put(self, queue: str, content: Content, **options: Unpack[PutOptions]) -> None:
        """Put a message into a queue.

        Args:
            queue: The name of the queue.
            content: The content, as for `publish`.
            options: The options of `Queue.put`, without `timeout`.

        Raises:
            BadName, BadArgument, MessageTooLarge: As for `Queue.put`.

        Example:
            tx.put("invoices", {"order": 42}, priority=9)
        """
        return self._aio.put(queue, content, **options)

    def publish(self, key: str, content: Content, **options: Unpack[PublishOptions]) -> None:
        """Publish a message. It is persistent unless `persistent=False`.

        Args:
            key: The topic's key.
            content: The content, as for `publish` of the client.
            options: The options of `publish`, without `timeout`.

        Raises:
            BadKey, BadArgument, PublishRefused, MessageTooLarge: As for `publish`.

        Example:
            tx.publish("orders/42", "done")
        """
        return self._aio.publish(key, content, **options)

    def send(self, destination: str, content: Content, **options: Unpack[SendOptions]) -> None:
        """Send a message to a client or session. It is persistent unless `persistent=False`.

        Args:
            destination: The client or session. An address is refused, as services are outside of the mesh's
                stores.
            content: The content, as for `publish`.
            options: The options of `send`, without `timeout` and `delivery`.

        Raises:
            BadName, BadArgument, PublishRefused, MessageTooLarge: As for `send`.

        Example:
            tx.send("/client/joe", b"ok")
        """
        return self._aio.send(destination, content, **options)

    def prepare(self, name: str = "") -> str:
        """Store the transaction without effect, as the last line of its block, and return its full name.

        Its deliveries are held, and its messages wait, until `commit_prepared` or `rollback_prepared`, also
        over restarts of the node.

        Args:
            name: The coordinator's name for it, unique among those of this user. Default: a random one.

        Raises:
            TransactionRefused: Nothing has happened: NAME_TAKEN, TOO_MANY_PREPARED, or as for a commit.
            InDoubt: It may be prepared: see `recover`.
            Closed: The transaction is not open.
            BadArgument: The transaction has a database.

        Example:
            name = tx.prepare("xid-17")
        """
        return self._run(None, lambda: self._aio.prepare(name))


class Transacting(Connected):
    """The client's calls for transactions."""

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
            with m.transaction() as tx:
                tx.ack(job)
                tx.put("invoices", invoice)
        """
        return Transaction(
            self._client, self._thread, self._aio.transaction(timeout=timeout, db=db, order_by=order_by)
        )

    def outcome(self, tx: Committed, *, timeout: float | None = None) -> TransactionOutcome:
        """Return the outcome of a transaction after InDoubt: "committed" or "refused".

        A transaction that its node does not know is refused from then on.

        Args:
            tx: The transaction.
            timeout: Seconds until InDoubt. Default: the client's timeout.

        Raises:
            InDoubt: The outcome is not known in time, or expired.
            Closed: The block has not ended.

        Example:
            outcome = m.outcome(tx)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.outcome(tx, timeout=left()))
