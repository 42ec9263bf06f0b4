"""Serving and asking without a loop: what the user's thread waits for, the client's thread does."""

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
    """A message for somebody who serves its address. Who wants a reply waits until there is one.

    `headers`, `sender` and `value` are as of any message; `to` is the address.
    """

    _thread: LoopThread | None = None

    @property
    def remaining(self) -> float:
        """How many seconds its sender will still wait; `inf`: as long as it takes."""

        async def left() -> float:
            return super(Request, self).remaining

        assert self._thread is not None
        return self._thread.run(left)

    def reply(  # type: ignore[override]
        self, content: Content = b"", *, headers: Headings = None, codec: Codec | str | None = None
    ) -> bool:
        """Reply, once; all replies of a turn leave together.

        `content` and `headers` are as for `publish`. False: nobody waits for it any more, for the time is
        over, the connection broke meanwhile, the service was left, or it was sent by `send`. Raises
        LocalError ANSWERED the second time, and what `publish` says of a content; then it may be answered
        yet.
        """
        assert self._thread is not None
        return self._thread.run(super().reply, content, headers=headers, codec=codec)

    def fail(self, code: str, text: str = "") -> bool:  # type: ignore[override]
        """Let it fail: its sender gets RequestFailed with this `code` (up to 64 characters, such as
        "NO_SUCH_USER") and text. The rest is as for `reply`.
        """
        assert self._thread is not None
        return self._thread.run(super().fail, code, text)


def handed(thread: LoopThread, it: request.Request[Any]) -> Request[Any]:
    """The request for a thread that has no loop."""
    return Request(
        it._envelope, it._index, it.key, it.content, it._reader, it._value, it._taken, it._served, thread
    )


class ThreadWaiting(Generic[T]):
    """What waits in the user's thread for what comes in the client's."""

    def __init__(self, thread: LoopThread) -> None:
        self._thread = thread

    def _wait(self, what: Callable[[], Coroutine[Any, Any, R]], timeout: float | None = None) -> R | None:
        """What comes next; None after the end. MeshTimeout when nothing does within so many seconds."""
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
            raise MeshTimeout(f"nothing came within {timeout:g} s.") from None

    def _leave(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._thread.is_ours and self._thread.is_open:
            self._thread.run(how)


class Service(ThreadWaiting[T]):
    """Requests to one address: `for request in service`, in one thread at a time.

    A context manager: inside, messages to the address come here; else as `mesh.Service`.
    """

    def __init__(self, thread: LoopThread, made: service.Service[T]) -> None:
        super().__init__(thread)
        self._made = made

    @property
    def address(self) -> str:
        """What is served."""
        return self._made.address

    def __enter__(self) -> Service[T]:
        self._thread.run(self._made.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Serve it no more: what is not answered by now is lost for those who asked."""
        self._leave(self._made.close)

    def __iter__(self) -> Service[T]:
        return self

    def __next__(self) -> Request[T]:
        found = self.next_request()
        if found is None:
            raise StopIteration
        return found

    def next_request(self, timeout: float | None = None) -> Request[T] | None:
        """The next one; None after the end. MeshTimeout when none comes within so many seconds."""
        found = self._wait(self._made.__anext__, timeout)
        return None if found is None else handed(self._thread, found)


class Gathering(ThreadWaiting[T]):
    """The replies as they come, until there is one of each who was asked, or `most`, or the time is over.

    A context manager: it is asked when it is entered, and nobody waits any more when it is left.
    """

    def __init__(self, thread: LoopThread, made: gathering.Gathering[T]) -> None:
        super().__init__(thread)
        self._made = made

    @property
    def expected(self) -> int | None:
        """How many have been asked; None while that is not known."""
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
    """First all nodes where it is served, then what changes; who is slow gets the last word on each."""

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
        """The next news; None after the end. MeshTimeout when there are none within so many seconds."""
        return self._wait(self._made.__anext__, timeout)

    def close(self) -> None:
        """Look no more; so does who drops it."""
        self._leave(self._made.aclose)
