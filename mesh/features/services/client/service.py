"""The service of an address: `async with m.serve("orders") as orders: async for request in orders`."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Generic, Self

from mesh.client.codecs import Codec
from mesh.client.core.calls import Pending
from mesh.client.message import T
from mesh.client.oneloop import check_loop
from mesh.client.reading import WHATEVER, ContentReader
from mesh.client.shell import Shell
from mesh.errors import Closed
from mesh.features.services.client.core.serving import ClientServing, TakenRequest
from mesh.features.services.client.request import Request, Served, made_of


class Service(Generic[T]):
    """A service of one address: `async for request in service`, in one task or in several.

    A context manager: inside it, messages to the address arrive here. A service survives the loss of its
    node: it registers again on the next connection, but its open requests are lost for their senders. A
    message that wants no reply is settled when the iterator is asked for the next message. A request stays
    open until it is replied to, fails, expires, or is dropped, so it may be passed to a task.

    Example:
        async with m.serve("orders") as orders:
            async for request in orders:
                await request.reply(b"done")
    """

    def __init__(
        self, client: object, shell: Shell, serving: ClientServing, codec: Codec, reader: ContentReader | None
    ) -> None:
        self._client = client  # keeps the client open
        self._shell, self._serving = shell, serving
        self._served = Served(shell, serving, codec)
        self._reader = reader or WHATEVER
        self._arrived: asyncio.Event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None  # the loop in which it was entered
        self._own = RequestTaker(self)

    @property
    def address(self) -> str:
        """The address that is served."""
        return self._serving.address

    async def __aenter__(self) -> Self:
        core = self._shell.now()
        core.features.check_services()
        if self._serving.error is not None or self._loop is not None:
            raise Closed(
                f"The service of {self.address} was opened before.", hint="Create another one with serve()."
            )
        self._serving.stirred = self._arrived.set
        self._loop = self._shell.loop
        try:
            await self._reply_to(core.services.register(self._serving))
        except BaseException:
            core.services.give_up(self._serving)
            raise
        return self

    async def _reply_to(self, pending: Pending) -> None:
        try:
            await pending.promise
        finally:
            self._shell.core.calls.drop_pending(pending)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop serving. Unanswered requests are lost for their senders."""
        if self._serving.error is None:
            self._own.done()
            pending = self._shell.now().services.unregister(self._serving)
            if pending is not None:
                await self._reply_to(pending)

    def __aiter__(self) -> RequestTaker[T]:
        return RequestTaker(self)

    async def __anext__(self) -> Request[T]:
        return await self._own.__anext__()

    def _take_request(self) -> tuple[TakenRequest, Request[T]] | None:
        if self._serving.error is not None:
            return None
        self._shell.now()
        taken = self._serving.take_request()
        return None if taken is None else (taken, made_of(taken, self._served, self._reader))

    async def _next(self) -> tuple[TakenRequest, Request[T]] | None:
        """Return the next request, raw and decoded, or None after the service was left on purpose."""
        serving = self._serving
        while serving.error is None:
            check_loop(self._loop)
            if (found := self._take_request()) is not None:
                return found
            if self._loop is None:
                hint = "Read it inside `async with m.serve(...) as requests:`; in mesh.sync with `with`."
                raise Closed(f"The service of {self.address} is not open.", hint=hint)
            self._arrived.clear()
            await self._arrived.wait()
        if isinstance(serving.error, Closed):
            return None
        raise serving.error


class RequestTaker(Generic[T]):
    """An iterator over the requests of a service; several iterators share the requests."""

    def __init__(self, service: Service[T]) -> None:
        self._service = service
        self._last: TakenRequest | None = None  # without a reply: settled by the next one

    def __aiter__(self) -> RequestTaker[T]:
        return self

    def done(self) -> None:
        """Settle the last message if it wanted no reply."""
        last, self._last = self._last, None
        if last is not None:
            self._service._serving.settle(last)

    async def __anext__(self) -> Request[T]:
        self.done()
        found = await self._service._next()
        if found is None:
            raise StopAsyncIteration
        if not found[0].wants_reply:
            self._last = found[0]
        return found[1]


def settled(request: Request[Any]) -> None:
    """Settle a message that wanted no reply. A request stays open."""
    if request._taken is not None and request._served is not None and not request._taken.wants_reply:
        request._served.serving.settle(request._taken)
