"""The transaction of a database in a program without a connection to the mesh."""

from __future__ import annotations

from typing import Any

from mesh.client.client import Client
from mesh.client.codecs import Codec
from mesh.features.transactions.client.database.database_operations import DatabaseOperations
from mesh.features.transactions.client.transaction import TIMEOUT, Transaction


def transaction(*, db: Any, order_by: str = "", codec: Codec | str = "json") -> Transaction:
    """Return a transaction of a database, for a program without a connection to the mesh.

    Args:
        db: A connection of a database with an outbox, as for `transaction` of the client.
        order_by: As for `transaction` of the client.
        codec: As for `connect`.

    Raises:
        BadArgument: An argument is invalid.
        LocalError: As for `transaction` of the client.

    Example:
        async with mesh.transaction(db=conn) as tx:
            await conn.execute("UPDATE orders SET paid = true WHERE id = 42")
            tx.put("mail", text)
    """
    return Transaction(Client(codec=codec), TIMEOUT, DatabaseOperations(db, order_by))
