"""How does one serve an address? `async with m.serve("orders") as orders: async for request in orders`."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Generic, Self

from mesh.client.codecs import Codec
from mesh.client.core.calls import Pending
from mesh.client.core.serving import ClientServing, TakenRequest
from mesh.client.message import T
from mesh.client.oneloop import check_loop
from mesh.client.reading import WHATEVER, ContentReader
from mesh.client.request import Request, Served, made_of
from mesh.client.shell import Shell
from mesh.errors import Closed


class Service(Generic[T]):
    """Requests to one address: `async for request in service`, also in several tasks at once.

    A context manager: inside, messages to the address come here. It survives the loss of its node: it is
    served again on the next connection, and what it had by then is lost for those who asked.

    A message that wants no reply is done when the next one is asked for. A request stays open until it is
    replied to, fails, nobody holds it any more, or its time is over, so that it may be handed to a task.
    """

    def __init__(
        self, client: object, shell: Shell, serving: ClientServing, codec: Codec, reader: ContentReader | None
    ) -> None:
        self._client = client  # is not closed while somebody has this
        self._shell, self._serving = shell, serving
        self._served = Served(shell, serving, codec)
        self._reader = reader or WHATEVER
        self._arrived: asyncio.Event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None  # the one where it was entered
        self._own = RequestTaker(self)

    @property
    def address(self) -> str:
        """What is served."""
        return self._serving.address

    async def __aenter__(self) -> Self:
        core = self._shell.now()
        core.check_services()
        if self._serving.error is not None:
            raise Closed("this service was left before.", hint="Make another with `serve()`.")
        self._serving.stirred = self._arrived.set
        try:
            await self._reply_to(core.services.enter(self._serving))
        except BaseException:
            core.services.give_up(self._serving)
            raise
        self._loop = self._shell.loop
        return self

    async def _reply_to(self, pending: Pending) -> None:
        try:
            await pending.promise
        finally:
            self._shell.core.calls.forget(pending)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Serve it no more: what is not answered by now is lost for those who asked."""
        if self._serving.error is None:
            self._own.done()
            pending = self._shell.now().services.leave(self._serving)
            if pending is not None:
                await self._reply_to(pending)

    def __aiter__(self) -> RequestTaker[T]:
        return RequestTaker(self)

    async def __anext__(self) -> Request[T]:
        return await self._own.__anext__()

    def _take(self) -> tuple[TakenRequest, Request[T]] | None:
        """One that is there already."""
        if self._serving.error is not None:
            return None
        self._shell.now()
        taken = self._serving.take()
        return None if taken is None else (taken, made_of(taken, self._served, self._reader))

    async def _next(self) -> tuple[TakenRequest, Request[T]] | None:
        """The next one; None when it was left on purpose."""
        serving = self._serving
        while serving.error is None:
            check_loop(self._loop)
            if (found := self._take()) is not None:
                return found
            if self._loop is None:
                hint = "Read it inside `async with m.serve(...) as requests:`; in mesh.sync `with` does."
                raise Closed("this service is not open.", hint=hint)
            self._arrived.clear()
            await self._arrived.wait()
        if isinstance(serving.error, Closed):
            return None
        raise serving.error


class RequestTaker(Generic[T]):
    """One who takes requests of a service, one after the other."""

    def __init__(self, service: Service[T]) -> None:
        self._service = service
        self._last: TakenRequest | None = None  # it wants no reply, and is done with the next one

    def __aiter__(self) -> RequestTaker[T]:
        return self

    def done(self) -> None:
        """The last one is."""
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
    """It wanted no reply, and is done."""
    if request._taken is not None and request._served is not None and not request._taken.wants_reply:
        request._served.serving.settle(request._taken)
