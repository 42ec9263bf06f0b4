"""Queues without an event loop: the user's thread waits while the client's thread works."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Protocol, TypeVar, overload

from mesh.client import consumer, delivery, queue, receipt
from mesh.client.arguments import several
from mesh.client.content import Content
from mesh.client.message import T
from mesh.client.putting import PutNumbers, add, count, in_parts
from mesh.errors import MeshError, WouldBlock
from mesh.sync.posts import Post, Receipt
from mesh.sync.services import ThreadWaiting
from mesh.sync.table import same, waited
from mesh.sync.thread import LoopThread

R = TypeVar("R")


class Delivery(delivery.Delivery[T]):
    """A message delivered by a queue, to be settled once: acked, nacked or rejected.

    A context manager: at the end of the block it acks an unsettled message, or nacks it after an exception.
    Errors are as for `mesh.Delivery`.

    Example:
        for job in jobs:
            with job:
                handle(job.value)
    """

    _thread: LoopThread | None = None

    @property
    def _run(self) -> Callable[..., None]:
        assert self._thread is not None
        return self._thread.run

    def ack(self) -> None:  # type: ignore[override]
        """Acknowledge the message: its work is done, and the queue deletes it."""
        self._run(super().ack)

    def nack(self, *, delay: float = 0.0) -> None:  # type: ignore[override]
        """Return the message to the queue, to be delivered again, unless it has failed too often.

        After the queue's `max_attempts` failed deliveries, the queue dead-letters the message.

        Args:
            delay: Seconds until the redelivery, at least. Default: 0.

        Raises:
            LocalError: The message was settled before; the code is SETTLED.
            LeaseOver: The message is no longer this consumer's.
            BadArgument: The delay is invalid.

        Example:
            job.nack(delay=30)
        """
        self._run(super().nack, delay=delay)

    def reject(self, reason: str = "") -> None:  # type: ignore[override]
        """Move the message to the dead letters.

        Args:
            reason: The cause, which `mesh dlq ls` shows, in up to 200 characters. Default: none.

        Raises:
            LocalError: The message was settled before; the code is SETTLED.
            LeaseOver: The message is no longer this consumer's.
            BadArgument: The reason is too long.

        Example:
            job.reject("no such invoice")
        """
        self._run(super().reject, reason)

    def extend(self, seconds: float) -> None:  # type: ignore[override]
        """Extend the lease of the message.

        Args:
            seconds: Time from now until the lease ends.

        Raises:
            LocalError: The message was settled before; the code is SETTLED.
            LeaseOver: The message is no longer this consumer's.
            BadArgument: The time is invalid.

        Example:
            job.extend(600)
        """
        self._run(super().extend, seconds)

    def __enter__(self) -> Delivery[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(super().__aexit__, kind, error, trace)


def handed(thread: LoopThread, it: delivery.Delivery[Any]) -> Delivery[Any]:
    """Return `it` as a blocking delivery, for use in the user's thread."""
    return Delivery(
        it._envelope,
        it._index,
        it.key,
        it.content,
        it._reader,
        it._value,
        it._tries,
        it._hands,
        it._lot,
        it._place,
        thread,
    )


class Deliveries(delivery.Deliveries[T]):
    """Messages of a queue that arrived together, to be settled one by one or all at once.

    A context manager: at the end of the block it acks the unsettled messages, or nacks them after an
    exception.

    Example:
        with q.consume() as jobs:
            for batch in jobs.batches():
                with batch:
                    store(batch.contents())
    """

    def __init__(self, thread: LoopThread, it: delivery.Deliveries[T]) -> None:
        super().__init__(it._lot, it._places, it._hands, it._reader)
        self._thread = thread

    @overload
    def __getitem__(self, i: int) -> Delivery[T]: ...
    @overload
    def __getitem__(self, i: slice) -> list[delivery.Delivery[T]]: ...
    def __getitem__(self, i: int | slice) -> Delivery[T] | list[delivery.Delivery[T]]:
        if isinstance(i, slice):
            return [self[place] for place in range(len(self))[i]]
        return handed(self._thread, super().__getitem__(i))

    def __iter__(self) -> Iterator[Delivery[T]]:
        return map(partial(handed, self._thread), super().__iter__())

    def ack(self) -> None:  # type: ignore[override]
        """Acknowledge all unsettled messages. Errors are as for a Delivery."""
        self._thread.run(super().ack)

    def nack(self, *, delay: float = 0.0) -> None:  # type: ignore[override]
        """Return all unsettled messages to the queue, as `Delivery.nack` does.

        Args:
            delay: Seconds until the redelivery, at least. Default: 0.

        Raises:
            LocalError, LeaseOver, BadArgument: As for `Delivery.nack`.
        """
        self._thread.run(super().nack, delay=delay)

    def __enter__(self) -> Deliveries[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.run(super().__aexit__, kind, error, trace)


class Consumer(ThreadWaiting[T]):
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
        self._client = client  # keeps the client open
        self._made = made

    def __enter__(self) -> Consumer[T]:
        self._thread.run(self._made.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop consuming. Unsettled messages return to the queue."""
        self._leave(self._made.close)

    def __iter__(self) -> Consumer[T]:
        return self

    def __next__(self) -> Delivery[T]:
        found = self.next_delivery()
        if found is None:
            raise StopIteration
        return found

    def next_delivery(self, timeout: float | None = None) -> Delivery[T] | None:
        """Return the next delivery, or None after the end.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No message came in time.
        """
        found = self._wait(self._made.__anext__, timeout)
        return None if found is None else handed(self._thread, found)

    def batches(self) -> Iterator[Deliveries[T]]:
        """Yield messages in the batches in which they arrived. Each message must be settled."""
        while (batch := self.next_batch()) is not None:
            yield batch

    def next_batch(self, timeout: float | None = None) -> Deliveries[T] | None:
        """Return the next batch, or None after the end.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No batch came in time.
        """
        found = self._wait(self._made._next_batch, timeout)
        return None if found is None else Deliveries(self._thread, found)

    def ack(self, deliveries: Iterable[delivery.Delivery[Any]]) -> None:
        """Acknowledge several deliveries at once.

        If some are no longer this consumer's, the others are acknowledged anyway.

        Args:
            deliveries: Unsettled deliveries of this consumer.

        Raises:
            BadType: A delivery did not come from this consumer.
            LocalError: A delivery was settled before, with the code SETTLED. None is acknowledged.
            LeaseOver: A delivery is no longer this consumer's.

        Example:
            jobs.ack(finished)
        """
        self._thread.run(self._made.ack, list(deliveries))


class Waiter(Protocol):
    """The client, which runs functions in its thread."""

    def _run(self, timeout: float | None, function: Callable[[], Coroutine[Any, Any, R]], /) -> R: ...
    def _run_within(self, timeout: float | None, function: Callable[[], Coroutine[Any, Any, R]], /) -> R: ...
    def _left(self, timeout: float | None, /) -> Callable[[], float | None]: ...
    def _post(self, size: int, post: Post, /) -> Receipt: ...
    def room(self, *, timeout: float | None) -> Any:
        """Wait until the window has room for a message."""


class Queue:
    """A queue by name, with the calls of `mesh.Queue`.

    Example:
        q = m.queue("jobs")
        q.declare(max_attempts=3)
        q.put(b"job 1")
    """

    def __init__(self, client: Waiter, thread: LoopThread, made: queue.Queue) -> None:
        self._client, self._thread, self._aio = client, thread, made
        self._run, self._left = client._run, client._left

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._aio.name

    @waited(queue.Queue.put)
    def put(self) -> Any: ...
    @waited(queue.Queue.declare)
    def declare(self) -> Any: ...
    @waited(queue.Queue.info)
    def info(self) -> Any: ...
    @waited(queue.Queue.peek)
    def peek(self) -> Any: ...
    @waited(queue.Queue.purge)
    def purge(self) -> Any: ...
    @waited(queue.Queue.move)
    def move(self) -> Any: ...
    @waited(queue.Queue.delete)
    def delete(self) -> Any: ...

    @same(queue.Queue.post)
    def post(self, content: Content, **options: Any) -> Receipt:
        self._thread.check()
        message, how = self._aio._prepared(content, **options)
        self._aio._check(message)
        return self._client._post(len(message[1]), partial(self._aio._posted_when_room, message, how))

    @same(queue.Queue.put_many)
    def put_many(self, contents: Iterable[Content], *, timeout: float | None = None, **options: Any) -> int:
        several(contents, "put")
        self._aio._prepared(b"", **options)  # raises errors in the options first
        numbers: PutNumbers = []
        left = self._left(timeout)

        def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
            self._client._run_within(left(), work)

        try:
            run(self._aio._check_here)
            for some in in_parts(contents):
                if isinstance(contents, list | tuple):
                    run(partial(self._aio._put_some, some, options, numbers))
                else:
                    self._put_one(some[0], options, numbers, left)
                if self._aio._has_refused(numbers):
                    break
            run(partial(self._aio._wait_for_answers, numbers))
        except MeshError as error:
            with suppress(MeshError):  # earlier messages are put all the same
                run(partial(self._aio._wait_for_answers, numbers))
            raise self._aio._with_count(error, numbers) from None
        return count(numbers)

    def _put_one(
        self, content: Content, options: dict[str, Any], numbers: PutNumbers, left: Callable[[], float | None]
    ) -> None:
        """Pass one message to the client's thread when there is room, without waiting for its answer."""
        message, how = self._aio._prepared(content, **options)
        self._aio._check(message)

        async def post() -> receipt.Receipt:
            posted = await self._aio._posted_when_room(message, how)
            add(numbers, posted.number, posted.number)
            return posted

        while True:
            try:
                self._client._post(len(message[1]), post)
                return
            except WouldBlock:
                self._client.room(timeout=left())

    @same(queue.Queue.consume)
    def consume(self, **options: Any) -> Consumer[Any]:
        return Consumer(self._client, self._thread, self._aio.consume(**options))

    @same(queue.Queue.get)
    def get(self, *, timeout: float | None = None, **options: Any) -> Delivery[Any] | None:
        left = self._left(timeout)
        found = self._run(left(), lambda: self._aio.get(timeout=left(), **options))
        return None if found is None else handed(self._thread, found)
