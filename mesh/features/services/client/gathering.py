"""Replies of all services of an address: `async with m.gather("who", b"?") as answers`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Generic, Self

from msgspec import UNSET

from mesh.client.message import Message, T, TypedMessage
from mesh.client.reading import WHATEVER, ContentReader
from mesh.client.shell import Shell
from mesh.errors import Closed, MeshError
from mesh.features.services.client.core.gathered import Gathered

StartGathering = Callable[[], Coroutine[Any, Any, tuple[int, Gathered]]]


class GatheredMessage(TypedMessage[T]):
    """A reply to `gather`; `error` is set if the service reported a failure, or was lost."""

    _error: MeshError | None = None

    @property
    def error(self) -> MeshError | None:
        """The failure reported by the service or the mesh, such as RequestFailed or HandlerLost, or None."""
        return self._error


class Gathering(Generic[T]):
    """The replies as they arrive, until all services or `most` of them have replied, or the timeout ends.

    A context manager: the request is sent on entering. Replies that arrive after leaving are dropped.

    Example:
        async with m.gather("who") as answers:
            async for answer in answers:
                print(answer.sender, answer.text)
    """

    def __init__(
        self, client: object, shell: Shell, to: str, ask: StartGathering, reader: ContentReader | None
    ) -> None:
        self._client = client  # keeps the client open
        self._shell, self._to, self._ask = shell, to, ask
        self._reader = reader or WHATEVER
        self._number = 0
        self._gathered: Gathered | None = None
        self._is_left = False
        self._arrived = asyncio.Event()

    @property
    def expected(self) -> int | None:
        """The number of services that received the request; None while it is unknown."""
        return None if self._gathered is None else self._gathered.expected

    async def __aenter__(self) -> Self:
        if self._gathered is not None:
            what = f"The request to {self._to} has already been sent."
            raise Closed(what, hint="Send another one: gather().")
        self._number, self._gathered = await self._ask()
        self._gathered.stirred = self._arrived.set
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shell.core.requests.drop_request(self._number)
        self._is_left = True
        self._arrived.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> GatheredMessage[T]:
        gathered = self._gathered
        if gathered is None:
            hint = "Entering the block sends it: read the replies inside `async with m.gather(...)`."
            raise Closed(f"The request to {self._to} has not been sent yet.", hint=hint)
        while True:
            found = gathered.take_reply()
            if found is not None:
                return self._message(*found)
            if gathered.error is not None:
                raise gathered.error
            if gathered.is_over or self._is_left:
                break
            self._shell.now()
            self._arrived.clear()
            await self._arrived.wait()
        raise StopAsyncIteration

    def _message(self, m: Message[Any], error: MeshError | None) -> GatheredMessage[T]:
        return GatheredMessage(m._envelope, m._index, self._to, m.content, self._reader, UNSET, error)
