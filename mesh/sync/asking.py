"""The calls of a client that query the mesh.

Generated from mesh/client/asking.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from mesh.client.views import Place, Views
from mesh.sync.connected import Connected
from mesh.wire.replies import Info, NodeRow, Reason


class Asking(Connected):
    """The client's calls that query the mesh about nodes, routes and reasons."""

    def route(
        self, key: str = "", *, domain: str | None = None, to: str = "", node: str = ""
    ) -> list[dict[str, str]]:
        """Return the route that a message would take if it were published now. Nothing is sent.

        Args:
            key: The topic's key.
            domain: The topic's domain.
            to: A client or session as for `send`, or an address of another site, instead of a key.
            node: The node at which the message would be published. Default: the client's node.

        Returns:
            A step for each node on the route: "node", "decision" ("here", "forward", "wait", "refuse" or
                "unknown", if the node did not answer), "next" (a node or several, "site/NAME", or ""), "why",
                the "code" of a refusal, and the "state" of the link.

        Example:
            for step in m.route("orders/new"):
                print(step["node"], step["decision"], step["next"])
        """
        return self._run(None, lambda: self._aio.route(key, domain=domain, to=to, node=node))

    def why(self, kind: str, text: str, *, domain: str | None = None) -> list[Reason]:
        """Return the reasons why an object is, or is not, where it should be. Nothing is sent or changed.

        All reachable nodes are queried; the reasons name nodes that do not answer within 2 s.

        Args:
            kind: "node", "topic", "message", "address", "queue", "client", "site" or "lock".
            text: The name or key of the object, or the id of the message.
            domain: The topic's domain, or `lock/GROUP` for a lock.

        Returns:
            The reasons, causes first. A cause has `is_cause`, and its `hint` says what to do next.

        Example:
            for reason in m.why("topic", "orders/new"):
                print(reason.is_cause, reason.hint)
        """
        return self._run(None, lambda: self._aio.why(kind, text, domain=domain))

    def where(self, name: str) -> Place:
        """Return the nodes that have a name. All reachable nodes are queried, for at most 2 s.

        Args:
            name: The name of a node, client, session, address, queue or site, such as "joe". A kind before it
                selects one object: "node/heron", "client/joe", "address/calc/add",
                "queue/orders", "site/FRA".

        Returns:
            The first of the objects with that name; `others` has the further ones.

        Raises:
            UnknownName: No node has it; the hint has similar names.

        Example:
            print((m.where("client/joe")).nodes)
        """
        return self._run(None, lambda: self._aio.where(name))

    def nodes(self, *, all: bool = False) -> list[NodeRow]:
        """Return the nodes that the client's node knows, starting with that node. Times are in seconds.

        Args:
            all: Whether to include nodes that left on purpose, or are only known by rumor. Otherwise such
                nodes are listed only while messages wait for them.

        Raises:
            RemoteError: The node runs an earlier release, whose reply lacks required fields.

        Example:
            names = [node.name for node in m.nodes()]
        """
        return self._run(None, lambda: self._aio.nodes(all=all))

    def views(self) -> Views:
        """Return the nodes that are alive now, in this mesh and in each other site.

        At most 1,000 names are listed for each other site; `count` in the site's row is the total.
        """
        return self._run(None, lambda: self._aio.views())

    def info(self) -> Info:
        """Return the identity of the client's node and its counters since its start, in seconds and bytes."""
        return self._run(None, lambda: self._aio.info())

    def ping(self) -> float:
        """Return the round-trip time to the node, in seconds."""
        return self._run(None, lambda: self._aio.ping())
