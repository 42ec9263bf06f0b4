"""What can a client send to a session or client that it names?"""

from __future__ import annotations

from typing import Any, cast, overload

from mesh.client.arguments import yes_or_no
from mesh.client.codecs import Codec
from mesh.client.content import Content, Headings, Prepared, check_destination
from mesh.client.like import like
from mesh.client.publishing import Publishing
from mesh.client.receipt import Receipt
from mesh.errors import PublishRefused
from mesh.values import Published
from mesh.wire.envelope import FORCE_QUEUING


class Sending(Publishing):
    """The verb that sends."""

    async def _send_one(
        self,
        destination: str,
        content: Content,
        *,
        force_queuing: bool = False,
        domain: str | None = None,
        key: str = "",
        headers: Headings = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        codec: Codec | str | None = None,
        timeout: float | None = None,
    ) -> Published:
        message = self._letter(
            force_queuing, key, content, domain, headers, persistent, expiry, priority, codec
        )
        return await self._sending(timeout, self._published, message, check_destination(destination))

    async def _send_all(
        self,
        destination: list[str] | tuple[str, ...],
        content: Content,
        *,
        force_queuing: bool = False,
        domain: str | None = None,
        key: str = "",
        headers: Headings = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        codec: Codec | str | None = None,
        timeout: float | None = None,
    ) -> list[Published | PublishRefused]:
        message = self._letter(
            force_queuing, key, content, domain, headers, persistent, expiry, priority, codec
        )
        names = [check_destination(name) for name in destination]
        return await self._sending(timeout, self._published_each, message, names)

    @overload
    @like(_send_one)
    async def send(self) -> Published: ...
    @overload
    @like(_send_all)
    async def send(self) -> list[Published | PublishRefused]: ...
    @like(cast(Any, _send_all))
    async def send(self, destination: Any, content: Content, **options: Any) -> Any:
        """Send to one session (`/node/heron/client/joe/session/1`), or to every session of a client.

        Without a node in front (`client/joe`) the domain says where. `force_queuing`: if nobody is there
        it waits for somebody; else that raises NotConnected or UnknownNode. `matched` counts the sessions
        that have it; 0: it waits. Several destinations: one result each, in order, refusals too.
        Raises BadName, and what `publish` raises; `timeout` as there.
        """
        self._now()
        send: Any = self._send_all if isinstance(destination, list | tuple) else self._send_one
        return await send(destination, content, **options)

    def _letter(self, force_queuing: bool, key: str, content: Content, *how: Any) -> Prepared:
        names = ("domain", "headers", "persistent", "expiry", "priority", "codec")
        message = self._prepared(key, content, **dict(zip(names, how, strict=True)))
        flags = FORCE_QUEUING if yes_or_no("force_queuing", force_queuing) else 0
        return (*message[:3], message[3] | flags, *message[4:])

    async def _published_each(
        self, sent: list[Receipt], message: Prepared, names: list[str]
    ) -> list[Published | PublishRefused]:
        for name in names:
            sent.append(await self._post_when_room(message, name))
        return [await _or_refusal(receipt) for receipt in sent]


async def _or_refusal(receipt: Receipt) -> Published | PublishRefused:
    try:
        return await receipt
    except PublishRefused as error:
        return error
