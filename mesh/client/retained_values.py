"""The calls of a client that read and erase retained values."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

from mesh.client.arguments import whole, yes_or_no
from mesh.client.batch import Batch
from mesh.client.core.calls import ReplyPart
from mesh.client.core.queries import query
from mesh.client.message import FoundMessage, Message, T
from mesh.client.posting import Posting
from mesh.client.reading import WHATEVER, ContentReader, reader_of
from mesh.client.ruling import check_everywhere, withdraw_setting
from mesh.errors import BadArgument, BadQuery
from mesh.reserved import node_at, ruled_node
from mesh.values import check_domain, check_key
from mesh.wire import commands as c
from mesh.wire.limits import HISTORY_MESSAGES

log = logging.getLogger("mesh.client")
NAMED = 3  # nodes in a log line


class RetainedValues(Posting):
    """The client's calls that read and erase retained values."""

    async def get(
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
            for message in await m.get(pattern="sensors/#", type=float):
                print(message.key, message.value)
        """
        reader = reader_of(self._codec, type) or WHATEVER
        q = query(key, pattern, xpath, domain)
        arguments: dict[str, Any] = {"kind": q.kind, "text": q.text, "domain": q.domain}
        arguments["fresh"] = yes_or_no("fresh", fresh)
        if whole("history", history, 1, HISTORY_MESSAGES) > 1:
            arguments["history"] = history
        parts = await self._within(
            timeout, self._call_node, lambda request: c.Call(request, "get", arguments)
        )
        _report_missing(q.text, parts)
        return [message for part in parts for message in found(part, reader)]

    async def erase(
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
            await m.erase("sensors/kitchen/temp")
        """
        warn_of_empty_domain(domain, stacklevel=3)
        mode = _mode(silent, history_only)
        if xpath is not None:
            q = query(key, None, xpath, domain)
            return await self._within(timeout, self._erase_found, q, mode)
        if key is None:
            raise BadQuery("No topic to erase was given.", hint="Pass a key or xpath=.")
        checked = check_domain("" if domain is None else domain)
        if ruled_node(key) or node_at(key):
            check_everywhere(checked, silent=silent, history_only=history_only)
            return [key] if await self._within(timeout, withdraw_setting, self, key) else []
        return await self._within(timeout, self._erase, check_key(key), checked, mode)

    async def _erase_found(self, q: c.Query, mode: str) -> list[str]:
        await self._flushed()
        arguments = {"kind": q.kind, "text": q.text, "domain": q.domain, "fresh": True}
        parts = await self._call_node(lambda request: c.Call(request, "get", arguments))
        topics = dict.fromkeys((m.key, m.domain) for part in parts for m in found(part))
        return [each for key, domain in topics for each in await self._erase(key, domain, mode)]

    async def _erase(self, key: str, domain: str, mode: str) -> list[str]:
        arguments = {"key": key, "domain": domain}
        if mode:
            self._now().features.check_quiet()
            arguments["mode"] = mode
        publisher = self._now().publisher
        publisher.accumulator.seal()
        marks = publisher.outbox.marks()
        while not publisher.outbox.is_answered_below(marks):
            await self._change()
        value = await self._call_value(lambda request: c.Call(request, "erase", arguments))
        return [str(key) for key in value["erased"]]


def warn_of_empty_domain(domain: object, stacklevel: int) -> None:
    """Warn if the domain of an erasure is empty, which means every domain; `stacklevel` 2 is the caller."""
    if domain == "":
        what = 'erase(domain="") erases the topic in every domain. Omit domain= to do so, or name a domain.'
        warnings.warn(what, DeprecationWarning, stacklevel=stacklevel)


def _mode(silent: bool, history_only: bool) -> str:
    """Return the mode of an erasure, as it is sent. Raises: BadArgument."""
    if yes_or_no("silent", silent) and yes_or_no("history_only", history_only):
        raise BadArgument("silent= and history_only= cannot be used together.", hint="Omit silent=.")
    return "silent" if silent else "history" if history_only else ""


def _report_missing(text: str, parts: list[ReplyPart]) -> None:
    """Log the nodes whose retained values are not in the reply to `get`."""
    if missing := sorted({str(node) for value, _ in parts for node in value.get("missing") or ()}):
        more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
        nodes = ", ".join(missing[:NAMED])
        log.warning("get(%.80r) has no values of %s%s, which did not answer in time", text, nodes, more)


def found(part: ReplyPart, reader: ContentReader = WHATEVER) -> Iterator[FoundMessage[Any]]:
    """Yield the messages in a part of a reply to `get`. Nodes of earlier releases send no sources."""
    value, envelopes = part
    sources = chain(value.get("sources") or (), repeat(("", None)))
    for envelope, (source, stale) in zip(envelopes, sources, strict=False):
        for message in Batch(envelope):
            yield FoundMessage.of(message, source, stale, reader)
