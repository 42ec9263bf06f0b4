"""What can a client ask those who serve an address, one of them or all?"""

from __future__ import annotations

from typing import Any

from mesh.client.arguments import seconds, whole, yes_or_no
from mesh.client.codecs import Codec
from mesh.client.connected import TIMEOUT
from mesh.client.content import Content, Headings, Prepared, address_of
from mesh.client.core.gathered import Gathered
from mesh.client.core.requests import One
from mesh.client.gathering import Gathering
from mesh.client.message import Message, T, TypedMessage
from mesh.client.publishing import Publishing
from mesh.client.reading import reader_of
from mesh.errors import HandlerLost, MeshTimeout, WouldBlock
from mesh.wire.envelope import EVERY, LOCAL_ONLY, REQUEST

MOST = 1_000_000  # replies of one `gather`


class Requesting(Publishing):
    """The verbs that want replies."""

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
        """Ask one of those who serve an address, and wait for its reply, at most `timeout` seconds. With
        `/site/NYC/` in front it is one of another site.

        `content` and `headers` are as for `publish`, `type` as for `subscribe`: it is what `.value` of the
        reply is. `local_only`: only who serves it at this client's node. Raises NoHandlers when nobody serves
        it, RequestFailed when who was asked says so, HandlerLost when it is gone, and perhaps has done it:
        with `retry_lost` another one is asked, within the time. MeshTimeout.
        """
        to, limit = address_of(address), self._time(timeout)
        flags = REQUEST | LOCAL_ONLY if yes_or_no("local_only", local_only) else REQUEST
        yes_or_no("retry_lost", retry_lost)
        reader = None if type is None else reader_of(self._codec, type)
        message = self._prepared(to, content, headers=headers, priority=priority, codec=codec)
        core = self._now()
        core.check_services()
        core.check_sites(to)
        until = core.requests.until(limit)
        while True:
            try:
                reply = await self._reply(to, message, flags, until, limit)
                break
            except HandlerLost:
                if not retry_lost or self._now().desk.now >= until:
                    raise
        reply.key = to  # what is told of it names whom it is from
        if reader is None:
            return reply
        return TypedMessage(reply._envelope, reply._index, to, reply.content, reader)

    async def _reply(
        self, to: str, message: Prepared, flags: int, until: float, limit: float
    ) -> Message[Any]:
        number = await self._post_to_when_room(to, message, flags, until)
        core = self._core
        requests, promise = core.requests, core.desk.promise()
        requests.add(number, One(promise, requests.bucket(until), to, limit))
        try:
            return await promise  # type: ignore[no-any-return]
        finally:
            requests.forget(number)

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
        """Ask all who serve an address: `async with m.gather("who") as answers: async for answer in answers`.

        It ends when all who were asked have replied (`answers.expected`, as soon as that is known), with
        `most` replies, or after `timeout` seconds. A reply whose `error` is not None is none: who was asked
        has failed, or is gone. That nobody serves it is no error: then none comes. The rest is as for
        `request`.
        """
        to, limit = address_of(address), self._time(timeout)
        many = MOST if most is None else whole("most", most, 1, MOST)
        flags = REQUEST | EVERY | (LOCAL_ONLY if yes_or_no("local_only", local_only) else 0)
        message = self._prepared(to, content, headers=headers, codec=codec)

        async def ask() -> tuple[int, Gathered]:
            core = self._now()
            core.check_services()
            core.check_sites(to)
            requests = core.requests
            until = requests.until(limit)
            number = await self._post_to_when_room(to, message, flags, until)
            gathered = Gathered(requests.bucket(until), many)
            requests.add(number, gathered)
            return number, gathered

        return Gathering(self, self._shell, to, ask, reader_of(self._codec, type))

    def _time(self, timeout: float | None) -> float:
        """Seconds that somebody waits; None: as long as this client's patience."""
        if timeout is None:
            return TIMEOUT if self._patience is None else self._patience
        return seconds("timeout", timeout, zero=True)

    async def _post_to_when_room(self, to: str, message: Prepared, flags: int, until: float) -> int:
        """The number of what is sent to an address. MeshTimeout when there is no room by then."""
        try:
            return self._post_to(to, message, flags, until)
        except WouldBlock:
            pass
        clock = self._shell.timeout(max(0.0, until - self._now().desk.now))
        try:
            async with clock:
                return await self._posted_to(to, message, flags, until)
        except TimeoutError:
            if not clock.expired():
                raise
            what = f"there was no room to send something to {to} in time: too much is unanswered."
            raise MeshTimeout(what, hint="Nothing was sent.") from None
