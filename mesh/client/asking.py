"""The calls of a client that query the mesh."""

from __future__ import annotations

import time

from mesh.client.content import address_of, check_destination, is_address
from mesh.client.posting import Posting
from mesh.client.views import Place, SitesReply, Views, place_of
from mesh.errors import BadQuery
from mesh.features.where.model import readings
from mesh.names import OTHERS, node_name
from mesh.values import check_domain, check_key
from mesh.wire.replies import Info, Located, NodeRow, Reason, Reasons, ReplyValue, read_result

ABSENT = ("left", "seen")


def is_listed(state: str, waiting: int) -> bool:
    """Return whether a node is listed by default.

    Nodes that left on purpose, or are only known by rumor, appear only while messages wait for them.
    """
    return state not in ABSENT or waiting > 0


class NodesReply(ReplyValue, frozen=True, kw_only=True):
    """The part of a reply to "ls" that `nodes` reads."""

    nodes: list[NodeRow]


class Asking(Posting):
    """The client's calls that query the mesh about nodes, routes and reasons."""

    async def route(
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
            for step in await m.route("orders/new"):
                print(step["node"], step["decision"], step["next"])
        """
        if not (key or domain or to):
            raise BadQuery("No destination was given.", hint="Pass a key, domain= or to=.")
        arguments = {
            "key": check_key(key) if key else "",
            "domain": check_domain(domain or ""),
            "to": _routed(to) if to else "",
            "from": node_name(node) if node else "",
        }
        value = await self.call("route", **arguments)
        return list(value["steps"])

    async def why(self, kind: str, text: str, *, domain: str | None = None) -> list[Reason]:
        """Return the reasons why an object is, or is not, where it should be. Nothing is sent or changed.

        All reachable nodes are queried; the reasons name nodes that do not answer within 2 s.

        Args:
            kind: "node", "topic", "message", "address", "queue", "client", "site" or "lock".
            text: The name or key of the object, or the id of the message.
            domain: The topic's domain, or `lock/GROUP` for a lock.

        Returns:
            The reasons, causes first. A cause has `is_cause`, and its `hint` says what to do next.

        Example:
            for reason in await m.why("topic", "orders/new"):
                print(reason.is_cause, reason.hint)
        """
        arguments = {"kind": kind, "text": text, "domain": check_domain(domain or "")}
        return read_result(Reasons, await self.call("why", **arguments)).reasons

    async def where(self, name: str) -> Place:
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
            print((await m.where("client/joe")).nodes)
        """
        readings(name)
        found = read_result(Located, await self.call("locate", name=name))
        return place_of(found.sightings, found.missing)

    async def nodes(self, *, all: bool = False) -> list[NodeRow]:
        """Return the nodes that the client's node knows, starting with that node. Times are in seconds.

        Args:
            all: Whether to include nodes that left on purpose, or are only known by rumor. Otherwise such
                nodes are listed only while messages wait for them.

        Raises:
            RemoteError: The node runs an earlier release, whose reply lacks required fields.

        Example:
            names = [node.name for node in await m.nodes()]
        """
        nodes = read_result(NodesReply, await self.call("ls")).nodes
        return [node for node in nodes if all or is_listed(node.state, node.tailback.messages)]

    async def views(self) -> Views:
        """Return the nodes that are alive now, in this mesh and in each other site.

        At most 1,000 names are listed for each other site; `count` in the site's row is the total.
        """
        nodes = await self.nodes()
        rows = read_result(SitesReply, await self.call("sites"))
        alive = [node.name for node in nodes if node.state == "alive"]
        return Views(rows.site, alive, {row.site: row for row in rows.sites})

    async def info(self) -> Info:
        """Return the identity of the client's node and its counters since its start, in seconds and bytes."""
        return read_result(Info, await self.call("info"))

    async def ping(self) -> float:
        """Return the round-trip time to the node, in seconds."""
        start = time.perf_counter()
        await self.call("info")
        return time.perf_counter() - start


def _routed(to: str) -> str:
    return address_of(to) if is_address(to) and to.startswith(OTHERS) else check_destination(to)
