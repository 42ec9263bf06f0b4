"""The calls of a client that request replies from services.

Generated from mesh/features/services/client/requesting.py: change that, and type
`tools/generate_sync`.
"""

from __future__ import annotations

from mesh.client.codecs import Codec
from mesh.client.connected import TIMEOUT
from mesh.client.content import Content, Headings
from mesh.client.message import Message, T
from mesh.sync.connected import Connected
from mesh.sync.services import Gathering


class Requesting(Connected):
    """The client's calls that request replies from one or all services of an address."""

    def request(
        self,
        address: str,
        content: Content = b"",
        *,
        timeout: float | None = TIMEOUT,
        local_only: bool = False,
        headers: Headings = None,
        priority: int = 5,
        retry_lost: bool = False,
        type: type[T] | None = None,
        codec: Codec | str | None = None,
    ) -> Message[T]:
        """Send a request to one of the services of an address, and wait for its reply.

        Args:
            address: The address. A prefix such as `/site/NYC/` names another site.
            content: The content, as for `publish`.
            timeout: Seconds to wait. Default: 5. None: the client's patience, else 5.
            local_only: Whether to ask only services at this client's node.
            headers: Names and values, as for `publish`.
            priority: 0 (lowest) to 9. Default: 5.
            retry_lost: Whether to ask another service, within the timeout, if the first one is lost.
            type: The type of the reply's `value`, as for `subscribe`.
            codec: As for `publish`.

        Returns:
            The reply.

        Raises:
            NoHandlers: The address has no service.
            RequestFailed: The service reported a failure.
            HandlerLost: The service was lost and may have done the work.
            BadName, BadType, BadArgument, MessageTooLarge: An argument is invalid.
            MeshTimeout: No reply in time.

        Example:
            reply = m.request("calc/add", {"a": 1, "b": 2}, type=int)
            print(reply.value)
        """
        left = self._left(timeout)
        return self._run(
            left(),
            lambda: self._aio.request(
                address,
                content,
                timeout=left(),
                local_only=local_only,
                headers=headers,
                priority=priority,
                retry_lost=retry_lost,
                type=type,
                codec=codec,
            ),
        )

    def gather(
        self,
        address: str,
        content: Content = b"",
        *,
        timeout: float | None = 1.0,
        most: int | None = None,
        local_only: bool = False,
        headers: Headings = None,
        type: type[T] | None = None,
        codec: Codec | str | None = None,
    ) -> Gathering[T]:
        """Send a request to all services of an address, and iterate over their replies.

        The iteration ends when all services have replied (`expected`, once known), after `most`
        replies, or after `timeout` seconds. A reply whose `error` is set reports a failed or lost service.
        Without any service there are no replies and no error.

        Args:
            address: The address.
            content: The content, as for `publish`.
            timeout: Seconds to wait. Default: 1. None: as for `request`.
            most: The number of replies after which to stop. Default: 1,000,000.
            local_only: Whether to ask only services at this client's node.
            headers: Names and values, as for `publish`.
            type: The type of a reply's `value`, as for `subscribe`.
            codec: As for `publish`.

        Example:
            with m.gather("who") as answers:
                for answer in answers:
                    print(answer.sender, answer.error or answer.text)
        """
        return Gathering(
            self._client,
            self._thread,
            self._aio.gather(
                address,
                content,
                timeout=timeout,
                most=most,
                local_only=local_only,
                headers=headers,
                type=type,
                codec=codec,
            ),
        )
