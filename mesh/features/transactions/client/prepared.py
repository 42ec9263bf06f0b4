"""The client's calls for prepared transactions, which an outer coordinator decides."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from mesh.client.posting import Posting
from mesh.errors import BadArgument, TransactionRefused
from mesh.wire.calls import Ask, AskDecision, AskTransactions, arguments
from mesh.wire.commands import Call
from mesh.wire.replies import Decided, ReplyValue, TransactionRow, TransactionRows, read_result

R = TypeVar("R", bound=ReplyValue)
COMMITTED, REFUSED = "committed", "refused"


class Prepared(Struct, frozen=True):
    """A transaction that waits for `commit_prepared` or `rollback_prepared`.

    Example:
        for each in await m.recover():
            print(each.name, each.operations)
    """

    name: str  # such as "heron/xid-17"
    node: str
    since: float  # s since 1970
    operations: int  # settled deliveries and messages
    is_finishing: bool = False  # decided, and waits for disk space


class PreparedList(list[Prepared]):
    """Prepared transactions; `missing` has the names of nodes that did not answer."""

    missing: tuple[str, ...] = ()


class Deciding(Posting):
    """The client's calls for prepared transactions."""

    async def recover(self, *, timeout: float | None = None) -> PreparedList:
        """Return the prepared transactions of this user at all nodes, with the nodes in `missing`.

        Args:
            timeout: Seconds to wait. Default: the client's timeout.

        Example:
            for each in await m.recover():
                await m.rollback_prepared(each.name)
        """
        found = await self._asked_nodes(AskTransactions(), TransactionRows, timeout)
        result = PreparedList(map(_prepared, found.transactions))
        result.missing = tuple(found.missing)
        return result

    async def commit_prepared(self, name: str, *, timeout: float | None = None) -> None:
        """Commit a prepared transaction, from any session and node of its user; repeating it is harmless.

        Args:
            name: The name that `prepare` returned.
            timeout: Seconds to wait. Default: the client's timeout.

        Raises:
            TransactionRefused: It was rolled back.
            LocalError: NO_TRANSACTION, NODE_AWAY, or STORE_FULL: it is still prepared.
            MeshTimeout: No answer in time: repeat the call.

        Example:
            await m.commit_prepared("heron/xid-17")
        """
        await self._decided(name, "commit", COMMITTED, timeout)

    async def rollback_prepared(self, name: str, *, timeout: float | None = None) -> None:
        """Roll a prepared transaction back: its deliveries come again, as redelivered.

        Args:
            name: The name that `prepare` returned.
            timeout: Seconds to wait. Default: the client's timeout.

        Raises:
            TransactionRefused: It was committed.
            LocalError, MeshTimeout: As for `commit_prepared`.

        Example:
            await m.rollback_prepared("heron/xid-17")
        """
        await self._decided(name, "rollback", REFUSED, timeout)

    async def _decided(self, name: str, do: str, wanted: str, timeout: float | None) -> None:
        if "/" not in name:
            raise BadArgument(f"{name!r} names no transaction.", hint="A name is NODE/NAME: see recover().")
        found = await self._asked_nodes(AskDecision(name=name, do=do), Decided, timeout)
        if found.outcome != wanted:
            was = "committed" if found.outcome == COMMITTED else "rolled back"
            error = TransactionRefused(f"The transaction {name!r} was {was} before.", code="DECIDED")
            error.operation = -1
            raise error

    async def _asked_nodes(self, ask: Ask, says: type[R], timeout: float | None) -> R:
        self._now().features.check_transactions()
        verb, said = ask.verb, arguments(ask)
        parts = await self._within(timeout, self._call_node, lambda request: Call(request, verb, said))
        return read_result(says, parts[-1][0])


def _prepared(row: TransactionRow) -> Prepared:
    return Prepared(row.name, row.node, row.since / 1e9, row.operations, row.state == "finishing")
