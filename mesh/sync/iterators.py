"""The hand-written part of consumers, services and other iterators.

Their items arrive in the client's thread, and the user's thread waits for them.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from mesh.client import registrations
from mesh.client.arguments import seconds
from mesh.client.message import T
from mesh.client.registrations import Registration
from mesh.errors import MeshTimeout
from mesh.features.queues.client import consumer
from mesh.features.services.client import gathering, service
from mesh.features.services.client.gathering import GatheredMessage
from mesh.sync.deliveries import Deliveries
from mesh.sync.delivery import Delivery
from mesh.sync.request import Request
from mesh.sync.thread import LoopThread

R = TypeVar("R")
Item = TypeVar("Item")


class ThreadIterator(ABC, Generic[Item]):
    """Base class of iterators that read in the user's thread; `_wait_for_item` returns the next item.

    A consumer keeps its `client` open; the other iterators end with their client.
    """

    def __init__(self, thread: LoopThread) -> None:
        self._thread = thread

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        found = self._wait_for_item()
        if found is None:
            raise StopIteration
        return found

    @abstractmethod
    def _wait_for_item(self, timeout: float | None = None) -> Item | None: ...

    def _wait(self, what: Callable[[], Coroutine[Any, Any, R]], timeout: float | None = None) -> R | None:
        """Return the result of `what`, or None after the end.

        Raises: MeshTimeout if `what` takes longer than `timeout` seconds; None means no limit.
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
            raise MeshTimeout(f"Nothing arrived within {timeout:g} s.") from None

    def _leave(self, how: Callable[[], Coroutine[Any, Any, object]]) -> None:
        if self._thread.is_ours and self._thread.is_open:
            self._thread.run(how)


class ThreadContext(ThreadIterator[Item]):
    """Base class of iterators that are used as context managers."""

    _aio: AbstractAsyncContextManager[Any, None]

    def __enter__(self) -> Self:
        self._thread.run(self._aio.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(partial(self._aio.__aexit__, None, None, None))


class ThreadConsumer(ThreadContext[Delivery[T]]):
    """A consumer of one queue: `for job in consumer`, or `.batches()`, in one thread at a time.

    A context manager: inside it, messages of the queue are delivered here, as for `mesh.Consumer`.

    Example:
        with q.consume() as jobs:
            for job in jobs:
                with job:
                    print(job.value)
    """

    def __init__(self, client: object, thread: LoopThread, made: consumer.Consumer[T]) -> None:
        super().__init__(thread)
        self._client = client
        self._aio: consumer.Consumer[T] = made

    def close(self) -> None:
        self._leave(self._aio.close)

    def _wait_for_item(self, timeout: float | None = None) -> Delivery[T] | None:
        found = self._wait(self._aio.__anext__, timeout)
        return None if found is None else Delivery._blocking(self._thread, found)

    def next_delivery(self, timeout: float | None = None) -> Delivery[T] | None:
        """Return the next delivery, or None after the end.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No message came in time.
        """
        return self._wait_for_item(timeout)

    def batches(self) -> Iterator[Deliveries[T]]:
        while (batch := self.next_batch()) is not None:
            yield batch

    def next_batch(self, timeout: float | None = None) -> Deliveries[T] | None:
        """Return the next batch, or None after the end.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No batch came in time.
        """
        found = self._wait(self._aio._next_batch, timeout)
        return None if found is None else Deliveries(self._thread, found)

    def ack(self, deliveries: Iterable[Any]) -> None:
        self._thread.run(self._aio.ack, list(deliveries))  # an iterable runs in the user's thread


class ThreadService(ThreadContext[Request[T]]):
    """A service of one address: `for request in service`, in one thread at a time.

    A context manager: inside it, messages to the address arrive here, as for `mesh.Service`.

    Example:
        with m.serve("orders") as orders:
            for request in orders:
                request.reply(b"done")
    """

    def __init__(self, client: object, thread: LoopThread, made: service.Service[T]) -> None:
        super().__init__(thread)
        self._aio: service.Service[T] = made

    def close(self) -> None:
        self._leave(self._aio.close)

    def _wait_for_item(self, timeout: float | None = None) -> Request[T] | None:
        found = self._wait(self._aio.__anext__, timeout)
        return None if found is None else Request._blocking(self._thread, found)

    def next_request(self, timeout: float | None = None) -> Request[T] | None:
        """Return the next request, or None after the end.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No request came in time.
        """
        return self._wait_for_item(timeout)


class ThreadGathering(ThreadContext[GatheredMessage[T]]):
    """The replies as they arrive, until all services or `most` of them have replied, or the timeout ends.

    A context manager: the request is sent on entering. Replies that arrive after leaving are dropped.

    Example:
        with m.gather("who") as answers:
            for answer in answers:
                print(answer.sender, answer.error or answer.text)
    """

    def __init__(self, client: object, thread: LoopThread, made: gathering.Gathering[T]) -> None:
        super().__init__(thread)
        self._aio: gathering.Gathering[T] = made

    def _wait_for_item(self, timeout: float | None = None) -> GatheredMessage[T] | None:
        return self._wait(self._aio.__anext__, timeout)


class ThreadRegistrations(ThreadIterator[Registration]):
    """An iterator over the nodes that serve an address, then over changes.

    A slow reader receives the latest state of each node, not every step.
    """

    def __init__(self, client: object, thread: LoopThread, made: registrations.Registrations) -> None:
        super().__init__(thread)
        self._aio = made

    def _wait_for_item(self, timeout: float | None = None) -> Registration | None:
        return self._wait(self._aio.__anext__, timeout)

    def next_registration(self, timeout: float | None = None) -> Registration | None:
        """Return the next registration, or None after the end.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No registration came in time.
        """
        return self._wait_for_item(timeout)

    def close(self) -> None:
        self._leave(self._aio.aclose)
