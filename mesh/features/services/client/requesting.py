"""The calls of a client that request replies from services."""

from __future__ import annotations

from typing import Any

from mesh.client.arguments import seconds, whole, yes_or_no
from mesh.client.codecs import Codec
from mesh.client.connected import TIMEOUT
from mesh.client.content import Content, Headings, Prepared, address_of
from mesh.client.message import Message, T, TypedMessage
from mesh.client.posting import Posting
from mesh.client.reading import reader_of
from mesh.errors import HandlerLost, MeshTimeout, WouldBlock
from mesh.features.services.client.core.gathered import Gathered
from mesh.features.services.client.core.requests import One
from mesh.features.services.client.gathering import Gathering
from mesh.wire.envelope import EVERY, LOCAL_ONLY, REQUEST

MOST = 1_000_000  # replies of one `gather`


class Requesting(Posting):
    """The client's calls that request replies from one or all services of an address."""

    async def request(
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
            reply = await m.request("calc/add", {"a": 1, "b": 2}, type=int)
            print(reply.value)
        """
        to, limit = address_of(address), self._time(timeout)
        flags = REQUEST | LOCAL_ONLY if yes_or_no("local_only", local_only) else REQUEST
        yes_or_no("retry_lost", retry_lost)
        reader = None if type is None else reader_of(self._codec, type)
        message = self._prepared(to, content, headers=headers, priority=priority, codec=codec)
        core = self._now()
        core.features.check_services()
        core.features.check_sites(to)
        until = core.requests.until(limit)
        while True:
            try:
                reply = await self._reply(to, message, flags, until, limit)
                break
            except HandlerLost:
                if not retry_lost or self._now().context.now >= until:
                    raise
        reply.key = to  # errors name the service
        if reader is None:
            return reply
        return TypedMessage(reply._envelope, reply._index, to, reply.content, reader)

    async def _reply(
        self, to: str, message: Prepared, flags: int, until: float, limit: float
    ) -> Message[Any]:
        number = await self._post_to_when_room(to, message, flags, until)
        core = self._core
        requests, promise = core.requests, core.context.promise()
        requests.add(number, One(promise, requests.bucket(until), to, limit))
        try:
            return await promise  # type: ignore[no-any-return]
        finally:
            requests.drop_request(number)

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
            async with m.gather("who") as answers:
                async for answer in answers:
                    print(answer.sender, answer.error or answer.text)
        """
        to, limit = address_of(address), self._time(timeout)
        many = MOST if most is None else whole("most", most, 1, MOST)
        flags = REQUEST | EVERY | (LOCAL_ONLY if yes_or_no("local_only", local_only) else 0)
        message = self._prepared(to, content, headers=headers, codec=codec)

        async def ask() -> tuple[int, Gathered]:
            core = self._now()
            core.features.check_services()
            core.features.check_sites(to)
            requests = core.requests
            until = requests.until(limit)
            number = await self._post_to_when_room(to, message, flags, until)
            gathered = Gathered(requests.bucket(until), many)
            requests.add(number, gathered)
            return number, gathered

        return Gathering(self, self._shell, to, ask, reader_of(self._codec, type))

    def _time(self, timeout: float | None) -> float:
        """Return a time limit in seconds. None: the client's patience, else the default."""
        if timeout is None:
            return TIMEOUT if self._patience is None else self._patience
        return seconds("timeout", timeout, zero=True)

    async def _post_to_when_room(self, to: str, message: Prepared, flags: int, until: float) -> int:
        """Post a request and return its number. Raises: MeshTimeout if the window stays full."""
        try:
            return self._post_to(to, message, flags, until)
        except WouldBlock:
            pass
        clock = self._shell.timeout(max(0.0, until - self._now().context.now))
        try:
            async with clock:
                return await self._posted_to(to, message, flags, until)
        except TimeoutError:
            if not clock.expired():
                raise
            what = f"The request to {to} was not sent in time: too many messages were still unanswered."
            hint = "Send fewer at a time, or pass a longer timeout=."
            if not self._core.line.is_up:
                hint = "The client is not connected: check whether its node runs."
            raise MeshTimeout(what, hint=hint) from None
