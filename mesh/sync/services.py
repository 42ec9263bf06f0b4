"""Services, gathered replies and registrations without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Generic, TypeVar

from mesh.client import gathering, registrations, request, service
from mesh.client.arguments import seconds
from mesh.client.codecs import Codec
from mesh.client.content import Content, Headings
from mesh.client.gathering import GatheredMessage
from mesh.client.message import T
from mesh.client.registrations import Registration
from mesh.errors import MeshTimeout
from mesh.sync.thread import LoopThread

R = TypeVar("R")


class Request(request.Request[T]):
    """A message to an address. Its sender may wait for a reply: see `wants_reply`.

    `headers`, `sender` and `value` are those of any message; `to` is the address.

    Example:
        for request in orders:
            request.reply({"accepted": True})
    """

    _thread: LoopThread | None = None

    @property
    def remaining(self) -> float:
        """The seconds for which the sender still waits; `inf` without a limit, 0 after it."""

        async def left() -> float:
            return super(Request, self).remaining

        assert self._thread is not None
        return self._thread.run(left)

    def reply(  # type: ignore[override]
        self, content: Content = b"", *, headers: Headings = None, codec: Codec | str | None = None
    ) -> bool:
        """Reply to the request, once. Replies of the same turn of the event loop leave together.

        Args:
            content: The content, as for `publish`.
            headers: Names and values, as for `publish`.
            codec: As for `publish`.

        Returns:
            False if the sender no longer waits: its time is over, the connection was lost, the service was
                left, or the message was sent by `send`.

        Raises:
            LocalError: The request was answered before, with the code ANSWERED.
            BadType, BadArgument, MessageTooLarge: The content is invalid; another reply is still possible.

        Example:
            request.reply(b"done")
        """
        assert self._thread is not None
        return self._thread.run(super().reply, content, headers=headers, codec=codec)

    def fail(self, code: str, text: str = "") -> bool:  # type: ignore[override]
        """Fail the request: its sender gets RequestFailed.

        Args:
            code: The error's code, of up to 64 characters.
            text: The error's text.

        Returns:
            False if the sender no longer waits, as for `reply`.

        Raises:
            LocalError: The request was answered before, with the code ANSWERED.
            BadArgument: The code or text is invalid.

        Example:
            request.fail("NO_SUCH_USER", "There is no user 5.")
        """
        assert self._thread is not None
        return self._thread.run(super().fail, code, text)


def handed(thread: LoopThread, it: request.Request[Any]) -> Request[Any]:
    """Return `it` as a blocking request, for use in the user's thread."""
    return Request(
        it._envelope, it._index, it.key, it.content, it._reader, it._value, it._taken, it._served, thread
    )


class ThreadWaiting(Generic[T]):
    """Base class of iterators whose items arrive in the client's thread and are read in the user's."""

    def __init__(self, thread: LoopThread) -> None:
        self._thread = thread

    def _wait(self, what: Callable[[], Coroutine[Any, Any, R]], timeout: float | None = None) -> R | None:
        """Return the next item, or None after the end.

        Raises: MeshTimeout if none came within `timeout` seconds; None: no limit.
        """
        if timeout is not None:
            timeout = seconds("timeout", timeout, zero=True)
        if self._thread.is_ours and not self._thread.is_open:
            return None

        async def next_one() -> R | None:
            try:
                async with asyncio.timeout(timeout):
                    return await what()
            except StopAsyncIteration:
                return None

        try:
            return self._thread.run(next_one)
        except CancelledError:
            return None
        except TimeoutError as error:
            if isinstance(error, MeshTimeout):
                raise
            raise MeshTimeout(f"No request came within {timeout:g} s.") from None

    def _leave(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._thread.is_ours and self._thread.is_open:
            self._thread.run(how)


class Service(ThreadWaiting[T]):
    """A service of one address: `for request in service`, in one thread at a time.

    A context manager: inside it, messages to the address arrive here, as for `mesh.Service`.

    Example:
        with m.serve("orders") as orders:
            for request in orders:
                request.reply(b"done")
    """

    def __init__(self, thread: LoopThread, made: service.Service[T]) -> None:
        super().__init__(thread)
        self._made = made

    @property
    def address(self) -> str:
        """The address that is served."""
        return self._made.address

    def __enter__(self) -> Service[T]:
        self._thread.run(self._made.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving. Unanswered requests are lost for their senders."""
        self._leave(self._made.close)

    def __iter__(self) -> Service[T]:
        return self

    def __next__(self) -> Request[T]:
        found = self.next_request()
        if found is None:
            raise StopIteration
        return found

    def next_request(self, timeout: float | None = None) -> Request[T] | None:
        """Return the next request, or None after the end.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No request came in time.
        """
        found = self._wait(self._made.__anext__, timeout)
        return None if found is None else handed(self._thread, found)


class Gathering(ThreadWaiting[T]):
    """The replies as they arrive, until all services or `most` of them have replied, or the timeout ends.

    A context manager: the request is sent on entering. Replies that come after leaving are dropped.

    Example:
        with m.gather("who") as answers:
            for answer in answers:
                print(answer.sender, answer.error or answer.text)
    """

    def __init__(self, thread: LoopThread, made: gathering.Gathering[T]) -> None:
        super().__init__(thread)
        self._made = made

    @property
    def expected(self) -> int | None:
        """The number of services that received the request; None while it is unknown."""
        return self._made.expected

    def __enter__(self) -> Gathering[T]:
        self._thread.run(self._made.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(self._left)

    async def _left(self) -> None:
        await self._made.__aexit__(None, None, None)

    def __iter__(self) -> Gathering[T]:
        return self

    def __next__(self) -> GatheredMessage[T]:
        found = self._wait(self._made.__anext__)
        if found is None:
            raise StopIteration
        return found


class Registrations(ThreadWaiting[Registration]):
    """An iterator over the nodes that serve an address, then over changes.

    A slow reader gets the latest state of each node, not every step.
    """

    def __init__(self, thread: LoopThread, made: registrations.Registrations) -> None:
        super().__init__(thread)
        self._made = made

    def __iter__(self) -> Registrations:
        return self

    def __next__(self) -> Registration:
        found = self.next_registration()
        if found is None:
            raise StopIteration
        return found

    def next_registration(self, timeout: float | None = None) -> Registration | None:
        """Return the next registration, or None after the end.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No registration came in time.
        """
        return self._wait(self._made.__anext__, timeout)

    def close(self) -> None:
        """Stop watching, as does dropping the iterator."""
        self._leave(self._made.aclose)
