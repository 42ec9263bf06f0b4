"""What can a client ask for, once or from now on?"""

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

MEMBER, MOST_OF_MEMBER = 256, 10_000  # messages that a member of a group may have at once

R = TypeVar("R")


ABSENT = ("left", "seen")


def is_listed(state: str, waiting: int) -> bool:
    """Return whether a default list shows a node: not one that left on purpose, or was only heard of, unless
    messages wait for it."""
    return state not in ABSENT or waiting > 0


class NodesReply(Struct, frozen=True):
    """Of a reply to "ls", what `nodes` gives."""

    nodes: list[NodeRow]


class Asking(Subscribing, Ruling):
    """The verbs that read, and those that ask the node to do something."""

    # --- asking -----------------------------------------------------------------------------------------

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
        """The last value of each topic that matches.

        A node that has subscribed to a topic answers for its master; `fresh` asks the master all the same.
        `.source` of a message names the node that had it; `.stale` says for how many seconds that has been
        without its master. `type`: what `.value` is, as for `subscribe`. Raises MasterAway when the master
        cannot be reached and nobody has the value, MeshTimeout after `timeout` seconds.
        """
        reader = reader_of(self._codec, type) or WHATEVER
        q = query(key, pattern, xpath, domain)
        arguments = {"kind": q.kind, "text": q.text, "domain": q.domain, "fresh": yes_or_no("fresh", fresh)}
        parts = await self._within(timeout, self._ask, lambda request: c.Call(request, "get", arguments))
        return [message for part in parts for message in found(part, reader)]

    async def erase(
        self,
        key: str | None = None,
        *,
        xpath: str | None = None,
        domain: str | None = None,
        timeout: float | None = None,
    ) -> list[str]:
        """Take a topic away, with its last value; returns the keys that were there.

        Each subscriber is told, by one message with the state ERASED. It happens after all that this
        client has posted until now. `xpath`: each topic that `get` finds with it, one after the other.
        `__sys__cluster.node.master[NAME]`: the mesh says nothing of the rules of that node any more.
        Raises MasterAway, MeshTimeout after `timeout` seconds.
        """
        if xpath is not None:
            q = query(key, None, xpath, domain)
            return await self._within(timeout, self._erase_found, q)
        if key is None:
            raise BadQuery("nothing to erase.", hint="Give a key or xpath=.")
        checked = check_domain("" if domain is None else domain)
        if node := ruled_node(key):
            check_everywhere(checked)
            return [key] if await self._within(timeout, self._unruled, node) else []
        return await self._within(timeout, self._erase, check_key(key), checked)

    async def _erase_found(self, q: c.Query) -> list[str]:
        """What a query finds now."""
        await self._flushed()
        arguments = {"kind": q.kind, "text": q.text, "domain": q.domain, "fresh": True}
        parts = await self._ask(lambda request: c.Call(request, "get", arguments))
        topics = dict.fromkeys((m.key, m.domain) for part in parts for m in found(part))
        return [each for key, domain in topics for each in await self._erase(key, domain)]

    async def _erase(self, key: str, domain: str) -> list[str]:
        arguments = {"key": key, "domain": domain}
        publisher = self._now().publisher
        publisher.seal()
        marks = publisher.outbox.marks()
        while not publisher.outbox.is_answered_below(marks):
            await self._change()
        value = await self._asked(lambda request: c.Call(request, "erase", arguments))
        return [str(key) for key in value["erased"]]

    async def route(
        self, key: str = "", *, domain: str | None = None, to: str = "", node: str = ""
    ) -> list[dict[str, str]]:
        """The way of a message: where would it go, if it were published at `node` now? Nothing is sent.

        `to`: a client or session as for `send`, or an address of another site, instead of a key. One step for
        each node on the way: "node", "decision" ("here", "forward", "wait" or "refuse"), "next" (a node,
        "site/NAME", or "") and "why".
        """
        if not (key or domain or to):
            raise BadQuery("nothing to find a way for.", hint="Give a key, domain= or to=.")
        arguments = {
            "key": check_key(key) if key else "",
            "domain": check_domain(domain or ""),
            "to": _routed(to) if to else "",
            "from": node_name(node) if node else "",
        }
        value = await self.call("route", **arguments)
        return list(value["steps"])

    async def why(self, kind: str, text: str, *, domain: str | None = None) -> list[Reason]:
        """Why something goes where it goes, or nowhere. Nothing is sent, and nothing changed.

        `kind` is "node", "topic", "message", "address", "queue", "client" or "site", and `text` its name,
        its key, or the id of the message. All nodes that can be asked are; who has not answered within 2 s is
        named. What keeps it from getting there comes first: of such a reason `is_cause` is true. `hint` says
        what to do next.
        """
        arguments = {"kind": kind, "text": text, "domain": check_domain(domain or "")}
        return _read(await self.call("why", **arguments), Reasons).reasons

    async def nodes(self, *, all: bool = False) -> list[NodeRow]:
        """The nodes of the mesh as the client's node knows them, itself first. Times are in seconds.

        Nodes that left on purpose, and such as were only heard of, are in it with `all`, or if messages wait
        for them. A node of an earlier release says less: RemoteError if that is too little.
        """
        nodes = _read(await self.call("ls"), NodesReply).nodes
        return [node for node in nodes if all or is_listed(node.state, node.tailback.messages)]

    async def views(self) -> Views:
        """Who is alive here and in each other site, as it is now. At most 1,000 names of a site are told;
        `count` of its row says how many there are."""
        nodes = await self.nodes()
        rows = _read(await self.call("sites"), SitesReply)
        alive = [node.name for node in nodes if node.state == "alive"]
        return Views(rows.site, alive, {row.site: row for row in rows.sites})

    async def info(self) -> Info:
        """The client's node: who it is, and its counters since it started. In seconds and bytes."""
        return _read(await self.call("info"), Info)

    async def call(self, /, verb: str, **arguments: Any) -> Any:
        """The bare reply of the node to a verb, such as "peers" or "down", for tools that know docs/wire.md.

        A long list is asked for page by page, unless `after` or `limit` say which page is wanted. For nodes
        there are `nodes` and `info`, which have types.
        """
        value = await self._called(verb, arguments)
        is_one_page = not {"after", "limit"}.isdisjoint(arguments)
        while not is_one_page and goes_on(value):
            value = joined(value, await self._called(verb, {**arguments, "after": goes_on(value)}))
        if not is_one_page and isinstance(value, dict) and value.get("next") == "":
            del value["next"]
        return value

    async def _called(self, verb: str, arguments: dict[str, Any]) -> Any:
        return await self._within(None, self._asked, lambda request: c.Call(request, verb, arguments))

    async def ping(self) -> float:
        """Seconds to the node and back."""
        start = time.perf_counter()
        await self.call("info")
        return time.perf_counter() - start


def _routed(to: str) -> str:
    """A destination whose way can be asked for, step by step; BadName, BadArgument."""
    return address_of(to) if is_address(to) and to.startswith(OTHERS) else check_destination(to)


def _read(value: Any, kind: type[R]) -> R:
    """A reply as its type. What a later release adds is left out."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        hint = "Is it of another release? call() gives its reply as it is."
        raise RemoteError(f"the node's reply cannot be read: {error}.", hint=hint, code="MALFORMED") from None


def found(part: ReplyPart, reader: ContentReader = WHATEVER) -> Iterator[FoundMessage[Any]]:
    """The messages of a part of a reply to `get`. An older node does not say where they come from."""
    value, envelopes = part
    sources = chain(value.get("sources") or (), repeat(("", None)))
    for envelope, (source, stale) in zip(envelopes, sources, strict=False):
        for message in Batch(envelope):
            yield FoundMessage.of(message, source, stale, reader)
