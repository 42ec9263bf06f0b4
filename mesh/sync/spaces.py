"""The hand-written part of maps, counters and locks: each call waits for its twin in the client's thread."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Generic, Self

from mesh.client.message import T
from mesh.errors import BadArgument
from mesh.features.spaces.client import counter, lock, map, tally, watch
from mesh.features.spaces.client.watch import Change
from mesh.sync.iterators import ThreadIterator
from mesh.sync.session import ThreadClient
from mesh.sync.thread import LoopThread


class ThreadMap(Generic[T]):
    """A map by name, with the calls of `mesh.Map`.

    Example:
        prices = m.map("prices")
        version = prices.put("apple", 0.5, ttl=60)
    """

    def __init__(self, client: ThreadClient, thread: LoopThread, made: map.Map[Any]) -> None:
        self._client, self._thread, self._aio = client, thread, made
        self._run, self._left = client._run, client._left


class ThreadCounter:
    """A counter by name, with the calls of `mesh.Counter`.

    Example:
        number = m.counter("orders").add(1)
    """

    def __init__(self, client: ThreadClient, thread: LoopThread, made: counter.Counter) -> None:
        self._client, self._thread, self._aio = client, thread, made
        self._run, self._left = client._run, client._left


class ThreadTally:
    """A tally by name, with the calls of `mesh.Tally`.

    Example:
        m.tally("clicks").add(1)
    """

    def __init__(self, client: ThreadClient, thread: LoopThread, made: tally.Tally) -> None:
        self._client, self._thread, self._aio = client, thread, made
        self._run, self._left = client._run, client._left


class ThreadLock:
    """A lock by name, which one client at a time holds, as a context manager.

    The home of the lock gives each grant a `token` that is above all tokens before. Pass it on to the systems
    that you change, and let them refuse a lower one: a paused program can act after its lease has ended.

    Example:
        with m.lock("nightly", lease=30) as lock:
            store.write(rows, token=lock.token)
    """

    def __init__(self, client: object, thread: LoopThread, made: lock.Lock) -> None:
        self._client = client  # keeps the client open
        self._thread, self._aio = thread, made

    def __enter__(self) -> Self:
        if self._aio._cancel:
            hint = "Read `lost`, or use the client for asyncio."
            raise BadArgument("cancel=True cannot end the block of a blocking client.", hint=hint)
        self._thread.run(self._aio.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.run(self._aio.__aexit__, kind, error, trace)


class ThreadWatch(ThreadIterator[Change[T]]):
    """An iterator over the present values of a map, then over its changes: `for change in watch`."""

    def __init__(self, client: object, thread: LoopThread, made: watch.Watch[T]) -> None:
        super().__init__(thread)
        self._client = client
        self._aio: watch.Watch[T] = made

    def _wait_for_item(self, timeout: float | None = None) -> Change[T] | None:
        return self._wait(self._aio.__anext__, timeout)

    def next_change(self, timeout: float | None = None) -> Change[T] | None:
        """Return the next change, or None after the end.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No change came in time.
        """
        return self._wait_for_item(timeout)

    def close(self) -> None:
        self._leave(self._aio.aclose)
