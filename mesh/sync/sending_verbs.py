"""The call of a client that sends to sessions, clients and addresses.

Generated from mesh/client/sending.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Unpack, overload

from mesh.client import sending
from mesh.client.content import Content
from mesh.client.like import shows_options
from mesh.client.options import SendOptions
from mesh.client.sending import Sent
from mesh.sync.connected import Connected
from mesh.values import Published


class SendingVerbs(Connected):
    """The client's call that sends messages to sessions, clients and addresses."""

    @overload
    def send(
        self,
        destination: str,
        content: Content,
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> Published: ...

    @overload
    def send(
        self,
        destination: list[str] | tuple[str, ...],
        content: Content,
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> list[Sent]: ...

    @shows_options(sending.SendingVerbs.send)
    def send(
        self,
        destination: str | list[str] | tuple[str, ...],
        content: Content,
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> Published | list[Sent]:
        """Send a message to a session, to each session of a client, or to a service of an address.

        To an address, the message goes to one of its services, or with `delivery="all"` to each of them. To a
        client, it goes to each connected session, or with `delivery="one"` to that with the fewest unread
        bytes. A client without a node (`client/joe`) is found by the domain's rules. A prefix such as
        `/site/NYC` names another site.

        Args:
            destination: A session (`/node/heron/client/joe/session/1`, short `/node/heron/client/joe/1`), a
                client, an address (`calc/add`), or a list of them. In a list, `xpath://client[@name='joe']`
                stands for the connected sessions that the XPath selects, and `/site/*/calc/add` for a name
                in each other site.
            content: The content. This and the arguments not named here are as for `publish`.
            force_queuing: Whether the message waits in the inbox if the receiver is not connected.
            domain: For a client: the domain whose rules name its node.
            key: A key for the receiver. Default: none.
            expiry: Seconds until the message expires. A message that a service has begun no longer expires.
            delivery: "one" or "all". Default: "one" for an address, "all" for a client.
            local_only: For an address: whether to use only services at this client's node.

        Returns:
            The answer; `matched` counts the sessions or services that received the message, and 0 means that
                it waits.
            For several destinations: one `Sent` each, in order; then those of patterns, with one `Sent` for
                each node that did not report its clients.

        Raises:
            NotConnected, UnknownNode: The receiver is not connected, or its node is unknown.
            SiteUnreachable: No route leads to the site.
            NoHandlers: The address has no service.
            NotAvailable: The client's node runs an earlier release, without `delivery="one"` for clients.
            BadName, BadArgument, PublishRefused, MessageTooLarge, MeshTimeout: As for `publish`.

        Example:
            m.send("/node/heron/client/joe", b"hello", force_queuing=True)
        """
        left = self._left(timeout)
        send: Callable[..., Coroutine[Any, Any, Published | list[Sent]]] = self._aio.send
        return self._run(left(), lambda: send(destination, content, timeout=left(), **options))
