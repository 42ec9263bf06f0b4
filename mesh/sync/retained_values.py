"""The calls of a client that read and erase retained values.

Generated from mesh/client/retained_values.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from mesh.client.message import Message, T
from mesh.sync.connected import Connected


class RetainedValues(Connected):
    """The client's calls that read and erase retained values."""

    def get(
        self,
        key: str | None = None,
        *,
        xpath: str | None = None,
        domain: str | None = None,
        pattern: str | None = None,
        fresh: bool = False,
        history: int = 1,
        type: type[T] | None = None,
        timeout: float | None = None,
    ) -> list[Message[T]]:
        """Return the retained value of each topic that matches.

        Unless `fresh` is set, a node that subscribes to a topic may answer in place of the topic's master.
        Values of a node that does not answer in time are left out, and a line is logged.

        Args:
            key: The topic's key. Alternatives are `xpath` and `pattern`.
            xpath: An XPath on the XML of keys.
            domain: Only topics of this domain. Default: topics of any domain.
            pattern: A topic pattern, such as `sensors/#`.
            fresh: Whether to ask the master even if another node has the value.
            history: Number of messages of each topic, 1 to 1,000: the latest that the master keeps, oldest
                first. With more than 1, the master is asked.
            type: The type of `.value`, as for `subscribe`.
            timeout: Seconds to wait. Default: the client's patience.

        Returns:
            The messages. `source` names the node that had the value, and `stale` is the number of seconds for
            which that node has been unable to reach the master.

        Raises:
            BadKey, BadQuery, BadArgument: The query is invalid.
            MasterAway: The master is unreachable, and no reachable node has the value.
            MeshTimeout: No reply in time.

        Example:
            for message in m.get(pattern="sensors/#", type=float):
                print(message.key, message.value)
        """
        left = self._left(timeout)
        return self._run(
            left(),
            lambda: self._aio.get(
                key,
                xpath=xpath,
                domain=domain,
                pattern=pattern,
                fresh=fresh,
                history=history,
                type=type,
                timeout=left(),
            ),
        )

    def erase(
        self,
        key: str | None = None,
        *,
        xpath: str | None = None,
        domain: str | None = None,
        silent: bool = False,
        history_only: bool = False,
        timeout: float | None = None,
    ) -> list[str]:
        """Delete a topic and its retained value.

        The deletion takes effect after every message that this client has posted so far. Each subscriber is
        notified by one message with the state ERASED, unless `silent` or `history_only` is set.

        Args:
            key: The topic's key. `__sys__cluster.node.master[NAME]` withdraws the mesh's rules for that node,
                and `__sys__cluster.node.info[NAME]` the addresses that the admin has set for it.
            xpath: Deletes each topic that `get` finds with it, one after the other.
            domain: Erases the topic only in this domain. Default: in every domain where the node knows it.
                The empty text does the same, and is deprecated.
            silent: Whether to notify no subscriber.
            history_only: Whether to delete only the retained values. The topic remains for its subscribers,
                which are not notified, and `mesh why topic` does not call it erased.
            timeout: Seconds to wait. Default: the client's patience.

        Returns:
            The keys that existed.

        Raises:
            BadKey, BadQuery: The query is invalid.
            BadArgument: Both `silent` and `history_only` are set, or one of them for the rules of a node.
            NotAvailable: The node runs a release that always notifies.
            MasterAway: A master is unreachable, or runs such a release.
            MeshTimeout: No reply in time.

        Example:
            m.erase("sensors/kitchen/temp")
        """
        return super().erase(
            key, xpath=xpath, domain=domain, silent=silent, history_only=history_only, timeout=timeout
        )
