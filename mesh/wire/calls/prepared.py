"""Questions about prepared transactions."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from mesh.wire.calls.ask import LONGEST, Ask, Carried

XID = 64  # characters of the name that a client chooses
USER = 128  # characters of a user's key

TransactionName = Annotated[str, Meta(max_length=LONGEST + 1 + XID)]
User = Annotated[str, Meta(max_length=USER)]


class AskTransactions(Ask, frozen=True, kw_only=True):
    """List the prepared transactions of all nodes.

    Attributes:
        all: Also those of other users; only for an operator.
        user: From a node: the user whose transactions are wanted.
    """

    verb = "tx_ls"
    all: bool = False
    user: User = ""


class AskDecision(Carried, frozen=True, kw_only=True):
    """Commit a prepared transaction or roll it back. Nodes pass the question on to its node.

    Attributes:
        name: Its name, such as `heron/xid-17`.
        do: `commit` or `rollback`.
        user: From a node: the user who decides.
        is_operator: From a node: whether the user may decide the transactions of all users.
    """

    verb = "tx_decide"
    name: TransactionName
    do: Annotated[str, Meta(max_length=16)]
    user: User = ""
    is_operator: bool = False
