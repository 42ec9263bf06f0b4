"""Queues without a loop: what the user's thread waits for, the client's thread does."""

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
    """A message that was taken from a queue, until it is settled: acked, nacked or rejected, once.

    A context manager: `with job:` acks in the end and, by an exception, nacks. The rest is as for
    `mesh.Delivery`.
    """

    _thread: LoopThread | None = None

    @property
    def _run(self) -> Callable[..., None]:
        assert self._thread is not None
        return self._thread.run

    def ack(self) -> None:  # type: ignore[override]
        """It is done: nobody is given it again."""
        self._run(super().ack)

    def nack(self, *, delay: float = 0.0) -> None:  # type: ignore[override]
        """It is not done: it is given out again, after `delay` seconds at the earliest."""
        self._run(super().nack, delay=delay)

    def reject(self, reason: str = "") -> None:  # type: ignore[override]
        """It cannot be done: it is a dead letter. `reason`: why, in up to 200 characters."""
        self._run(super().reject, reason)

    def extend(self, seconds: float) -> None:  # type: ignore[override]
        """It takes longer: its lease ends so many seconds from now."""
        self._run(super().extend, seconds)

    def __enter__(self) -> Delivery[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(super().__aexit__, kind, error, trace)


def handed(thread: LoopThread, it: delivery.Delivery[Any]) -> Delivery[Any]:
    """The delivery for a thread that has no loop."""
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
    """Messages of a queue that came together, to be settled one by one or all at once.

    A context manager: in the end it acks what was not settled by then and, by an exception, nacks it.
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
        """All that are not settled yet are done. The errors are those of a Delivery."""
        self._thread.run(super().ack)

    def nack(self, *, delay: float = 0.0) -> None:  # type: ignore[override]
        """All that are not settled yet are given out again, after `delay` seconds at the earliest."""
        self._thread.run(super().nack, delay=delay)

    def __enter__(self) -> Deliveries[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.run(super().__aexit__, kind, error, trace)


class Consumer(ThreadWaiting[T]):
    """Messages of one queue: `for job in consumer`, or `.batches()`, in one thread at a time.

    A context manager: inside, messages of the queue come here; else as `mesh.Consumer`.
    """

    def __init__(self, client: object, thread: LoopThread, made: consumer.Consumer[T]) -> None:
        super().__init__(thread)
        self._client = client  # is not closed while somebody has this
        self._made = made

    def __enter__(self) -> Consumer[T]:
        self._thread.run(self._made.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take no more: what was not settled by now goes to others."""
        self._leave(self._made.close)

    def __iter__(self) -> Consumer[T]:
        return self

    def __next__(self) -> Delivery[T]:
        found = self.next_delivery()
        if found is None:
            raise StopIteration
        return found

    def next_delivery(self, timeout: float | None = None) -> Delivery[T] | None:
        """The next one; None after the end. MeshTimeout when none comes within so many seconds."""
        found = self._wait(self._made.__anext__, timeout)
        return None if found is None else handed(self._thread, found)

    def batches(self) -> Iterator[Deliveries[T]]:
        """Messages in the batches in which they came, of which each is to be settled."""
        while (batch := self.next_batch()) is not None:
            yield batch

    def next_batch(self, timeout: float | None = None) -> Deliveries[T] | None:
        """The next one; None after the end. MeshTimeout when none comes within so many seconds."""
        found = self._wait(self._made._next_batch, timeout)
        return None if found is None else Deliveries(self._thread, found)

    def ack(self, deliveries: Iterable[delivery.Delivery[Any]]) -> None:
        """All of these are done, at once. The errors are those of a Delivery; then the others are acked."""
        self._thread.run(self._made.ack, list(deliveries))


class Waiter(Protocol):
    """The client that has something done in its thread."""

    def _run(self, timeout: float | None, function: Callable[[], Coroutine[Any, Any, R]], /) -> R: ...
    def _run_within(self, timeout: float | None, function: Callable[[], Coroutine[Any, Any, R]], /) -> R: ...
    def _left(self, timeout: float | None, /) -> Callable[[], float | None]: ...
    def _post(self, size: int, post: Post, /) -> Receipt: ...
    def room(self, *, timeout: float | None) -> Any: ...


class Queue:
    """A queue, by its name: what is put into it waits until somebody takes it, and says that it is done."""

    def __init__(self, client: Waiter, thread: LoopThread, made: queue.Queue) -> None:
        self._client, self._thread, self._aio = client, thread, made
        self._run, self._left = client._run, client._left

    @property
    def name(self) -> str:
        """Its name."""
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
        self._aio._prepared(b"", **options)  # what is wrong with them is told before anything is put
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
            run(partial(self._aio._answered, numbers))
        except MeshError as error:
            with suppress(MeshError):  # those before it are put all the same
                run(partial(self._aio._answered, numbers))
            raise self._aio._told(error, numbers) from None
        return count(numbers)

    def _put_one(
        self, content: Content, options: dict[str, Any], numbers: PutNumbers, left: Callable[[], float | None]
    ) -> None:
        """For put_many: hand it over when there is room, and go on."""
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
