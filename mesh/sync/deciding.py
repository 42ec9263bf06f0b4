"""The client's calls for prepared transactions, which an outer coordinator decides.

Generated from mesh/features/transactions/client/prepared.py: change that, and type
`tools/generate_sync`.
"""

from __future__ import annotations

from mesh.features.transactions.client.prepared import PreparedList
from mesh.sync.connected import Connected


class Deciding(Connected):
    """The client's calls for prepared transactions."""

    def recover(self, *, timeout: float | None = None) -> PreparedList:
        """Return the prepared transactions of this user at all nodes, with the nodes in `missing`.

        Args:
            timeout: Seconds to wait. Default: the client's timeout.

        Example:
            for each in m.recover():
                m.rollback_prepared(each.name)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.recover(timeout=left()))

    def commit_prepared(self, name: str, *, timeout: float | None = None) -> None:
        """Commit a prepared transaction, from any session and node of its user; repeating it is harmless.

        Args:
            name: The name that `prepare` returned.
            timeout: Seconds to wait. Default: the client's timeout.

        Raises:
            TransactionRefused: It was rolled back.
            LocalError: NO_TRANSACTION, NODE_AWAY, or STORE_FULL: it is still prepared.
            MeshTimeout: No answer in time: repeat the call.

        Example:
            m.commit_prepared("heron/xid-17")
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.commit_prepared(name, timeout=left()))

    def rollback_prepared(self, name: str, *, timeout: float | None = None) -> None:
        """Roll a prepared transaction back: its deliveries come again, as redelivered.

        Args:
            name: The name that `prepare` returned.
            timeout: Seconds to wait. Default: the client's timeout.

        Raises:
            TransactionRefused: It was committed.
            LocalError, MeshTimeout: As for `commit_prepared`.

        Example:
            m.rollback_prepared("heron/xid-17")
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.rollback_prepared(name, timeout=left()))
