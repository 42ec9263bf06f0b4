"""The calls of a client that read topics, erase them, and query the mesh."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from mesh.client.arguments import yes_or_no
from mesh.client.content import address_of, check_destination, is_address
from mesh.client.core.calls import ReplyPart
from mesh.client.core.subscriptions import query
from mesh.client.message import Batch, FoundMessage, Message, T
from mesh.client.pages import goes_on, joined
from mesh.client.reading import WHATEVER, ContentReader, reader_of
from mesh.client.ruling import Ruling, check_everywhere
from mesh.client.subscribing import Subscribing
from mesh.client.views import SitesReply, Views
from mesh.errors import BadQuery, RemoteError
from mesh.names import OTHERS, node_name
from mesh.reserved import ruled_node
from mesh.values import check_domain, check_key
from mesh.wire import commands as c
from mesh.wire.replies import Info, NodeRow, Reason, Reasons

MEMBER, MOST_OF_MEMBER = 256, 10_000  # unconsumed messages of a member: default, limit

R = TypeVar("R")


ABSENT = ("left", "seen")


def is_listed(state: str, waiting: int) -> bool:
    """Return whether a node is listed by default.

    Nodes that left on purpose, or are only known by rumor, appear only while messages wait for them.
    """
    return state not in ABSENT or waiting > 0


class NodesReply(Struct, frozen=True):
    """The part of a reply to "ls" that `nodes` reads."""

    nodes: list[NodeRow]


class Asking(Subscribing, Ruling):
    """The calls that read and erase topics, and query the mesh."""

    # --- queries ----------------------------------------------------------------------------------------

    async def get(
        self,
        key: str | None = None,
        *,
        xpath: str | None = None,
        domain: str | None = None,
        pattern: str | None = None,
        fresh: bool = False,
        type: type[T] | None = None,
        timeout: float | None = None,
    ) -> list[Message[T]]:
        """Return the retained value of each topic that matches.

        Unless `fresh` is set, a node that subscribes to a topic may answer in place of the topic's master.

        Args:
            key: The topic's key. Alternatives are `xpath` and `pattern`.
            xpath: An XPath on the XML of keys.
            domain: Only topics of this domain. Default: topics of any domain.
            pattern: A topic pattern, such as `sensors/#`.
            fresh: Whether to ask the master even if this node has the value.
            type: The type of `.value`, as for `subscribe`.
            timeout: Seconds to wait. Default: the client's patience.

        Returns:
            The messages. `source` names the node that had the value, and `stale` the seconds for which that
            node has been without the master.

        Raises:
            BadKey, BadQuery, BadArgument: The query is invalid.
            MasterAway: The master is unreachable, and no reachable node has the value.
            MeshTimeout: No reply in time.

        Example:
            for message in await m.get(pattern="sensors/#", type=float):
                print(message.key, message.value)
        """
        reader = reader_of(self._codec, type) or WHATEVER
        q = query(key, pattern, xpath, domain)
        arguments = {"kind": q.kind, "text": q.text, "domain": q.domain, "fresh": yes_or_no("fresh", fresh)}
        parts = await self._within(
            timeout, self._call_node, lambda request: c.Call(request, "get", arguments)
        )
        return [message for part in parts for message in found(part, reader)]

    async def erase(
        self,
        key: str | None = None,
        *,
        xpath: str | None = None,
        domain: str | None = None,
        timeout: float | None = None,
    ) -> list[str]:
        """Delete a topic and its retained value.

        The deletion takes effect after every message that this client has posted so far. Each subscriber is
        notified by one message with the state ERASED.

        Args:
            key: The topic's key. `__sys__cluster.node.master[NAME]` withdraws the mesh's rules for that node.
            xpath: Deletes each topic that `get` finds with it, one after the other.
            domain: Erases the topic only in this domain. Default: in every domain where the node knows it.
            timeout: Seconds to wait. Default: the client's patience.

        Returns:
            The keys that existed.

        Raises:
            BadKey, BadQuery: The query is invalid.
            MasterAway: The master is unreachable.
            MeshTimeout: No reply in time.

        Example:
            await m.erase("sensors/kitchen/temp")
        """
        if xpath is not None:
            q = query(key, None, xpath, domain)
            return await self._within(timeout, self._erase_found, q)
        if key is None:
            raise BadQuery("No topic to erase was given.", hint="Pass a key or xpath=.")
        checked = check_domain("" if domain is None else domain)
        if node := ruled_node(key):
            check_everywhere(checked)
            return [key] if await self._within(timeout, self._unruled, node) else []
        return await self._within(timeout, self._erase, check_key(key), checked)

    async def _erase_found(self, q: c.Query) -> list[str]:
        await self._flushed()
        arguments = {"kind": q.kind, "text": q.text, "domain": q.domain, "fresh": True}
        parts = await self._call_node(lambda request: c.Call(request, "get", arguments))
        topics = dict.fromkeys((m.key, m.domain) for part in parts for m in found(part))
        return [each for key, domain in topics for each in await self._erase(key, domain)]

    async def _erase(self, key: str, domain: str) -> list[str]:
        arguments = {"key": key, "domain": domain}
        publisher = self._now().publisher
        publisher.seal()
        marks = publisher.outbox.marks()
        while not publisher.outbox.is_answered_below(marks):
            await self._change()
        value = await self._call_value(lambda request: c.Call(request, "erase", arguments))
        return [str(key) for key in value["erased"]]

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
            A step for each node on the route: "node", "decision" ("here", "forward", "wait" or "refuse"),
                "next" (a node, "site/NAME", or "") and "why".

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

        All reachable nodes are queried; nodes that do not answer within 2 s are named.

        Args:
            kind: "node", "topic", "message", "address", "queue", "client" or "site".
            text: The name or key of the object, or the id of the message.
            domain: The topic's domain.

        Returns:
            The reasons, causes first. A cause has `is_cause`, and its `hint` says what to do next.

        Example:
            for reason in await m.why("topic", "orders/new"):
                print(reason.is_cause, reason.hint)
        """
        arguments = {"kind": kind, "text": text, "domain": check_domain(domain or "")}
        return _read(await self.call("why", **arguments), Reasons).reasons

    async def nodes(self, *, all: bool = False) -> list[NodeRow]:
        """Return the nodes of the mesh as the client's node knows them, itself first. Times are in seconds.

        Args:
            all: Whether to include nodes that left on purpose, or are only known by rumor. Without it they
                are listed only while messages wait for them.

        Raises:
            RemoteError: The node runs an earlier release, whose reply lacks required fields.

        Example:
            names = [node.name for node in await m.nodes()]
        """
        nodes = _read(await self.call("ls"), NodesReply).nodes
        return [node for node in nodes if all or is_listed(node.state, node.tailback.messages)]

    async def views(self) -> Views:
        """Return the nodes that are alive now, in this mesh and in each other site.

        At most 1,000 names are listed per other site; `count` of the site's row is their full number.
        """
        nodes = await self.nodes()
        rows = _read(await self.call("sites"), SitesReply)
        alive = [node.name for node in nodes if node.state == "alive"]
        return Views(rows.site, alive, {row.site: row for row in rows.sites})

    async def info(self) -> Info:
        """Return the identity of the client's node and its counters since its start, in seconds and bytes."""
        return _read(await self.call("info"), Info)

    async def call(self, /, verb: str, **arguments: Any) -> Any:
        """Return the raw reply of the node to a verb of docs/wire.md, such as "peers" or "down".

        A long list is fetched page by page, unless `after` or `limit` select one page. Prefer `nodes` and
        `info`, which return types.

        Args:
            verb: The name of the verb.
            arguments: The arguments of the verb, as docs/wire.md lists them.

        Raises:
            MeshError: The node refused the call; `code` says why.
            MeshTimeout: No reply within the client's patience.

        Example:
            peers = await m.call("peers")
        """
        value = await self._called(verb, arguments)
        is_one_page = not {"after", "limit"}.isdisjoint(arguments)
        while not is_one_page and goes_on(value):
            value = joined(value, await self._called(verb, {**arguments, "after": goes_on(value)}))
        if not is_one_page and isinstance(value, dict) and value.get("next") == "":
            del value["next"]
        return value

    async def _called(self, verb: str, arguments: dict[str, Any]) -> Any:
        return await self._within(None, self._call_value, lambda request: c.Call(request, verb, arguments))

    async def ping(self) -> float:
        """Return the round-trip time to the node, in seconds."""
        start = time.perf_counter()
        await self.call("info")
        return time.perf_counter() - start


def _routed(to: str) -> str:
    return address_of(to) if is_address(to) and to.startswith(OTHERS) else check_destination(to)


def _read(value: Any, kind: type[R]) -> R:
    """Convert a reply to its type, ignoring fields of later releases. Raises: RemoteError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        hint = "The node may run another release. call() returns its reply unparsed."
        raise RemoteError(f"The node's reply cannot be read: {error}.", hint=hint, code="MALFORMED") from None


def found(part: ReplyPart, reader: ContentReader = WHATEVER) -> Iterator[FoundMessage[Any]]:
    """Yield the messages in a part of a reply to `get`. Older nodes send no sources."""
    value, envelopes = part
    sources = chain(value.get("sources") or (), repeat(("", None)))
    for envelope, (source, stale) in zip(envelopes, sources, strict=False):
        for message in Batch(envelope):
            yield FoundMessage.of(message, source, stale, reader)
