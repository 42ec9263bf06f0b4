"""Replies to questions about prepared transactions."""

from __future__ import annotations

from msgspec import Struct

from mesh.wire.replies.value import ReplyValue


class TransactionRow(Struct, frozen=True, kw_only=True):
    """A transaction that waits for a decision, or for space in a store.

    Attributes:
        name: Its name, such as `heron/xid-17`. Empty: it was not prepared.
        node: Its node.
        state: `prepared` or `finishing`.
        since: When it was prepared, in ns since 1970.
        operations: Number of settled deliveries and messages.
        bytes: Bytes of its messages.
        user: Key of the user who prepared it. Empty: without keys.
        queues: Its queues, at most 100.
    """

    name: str
    node: str
    state: str
    since: int = 0
    operations: int = 0
    bytes: int = 0
    user: str = ""
    queues: list[str] = []


class TransactionRows(ReplyValue, frozen=True, kw_only=True):
    """Transactions that wait.

    Attributes:
        transactions: The transactions, by name.
        missing: Names of nodes that did not answer.
    """

    transactions: list[TransactionRow] = []
    missing: list[str] = []


class Decided(ReplyValue, frozen=True, kw_only=True):
    """The outcome of a prepared transaction.

    Attributes:
        outcome: `committed` or `refused`.
    """

    outcome: str = ""
