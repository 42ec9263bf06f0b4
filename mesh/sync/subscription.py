"""The subscribing half of a blocking client: an iterator that waits in the user's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Generic

from mesh.client import subscription
from mesh.client.arguments import seconds
from mesh.client.message import Batch, Message, T
from mesh.errors import MeshTimeout
from mesh.sync.thread import LoopThread


class Subscription(Generic[T]):
    """Messages of one query: `for message in subscription`, or `.batches()`; in one thread at a time.

    A context manager: leaving it unsubscribes. What arrived and was not taken is then gone.
    """

    def __init__(self, client: object, thread: LoopThread, made: subscription.Subscription[T]) -> None:
        self._client = client  # is not closed while somebody has this
        self._thread, self._made = thread, made
        # Ctrl-C may come between any two steps. So batches have numbers, to ask for one twice gives it twice,
        # and to take it is one step: here are the number of the last one taken, and what is left of it.
        self._taken: tuple[int, Iterator[Message[T]]] = 0, iter(())
        # Of the loop's thread alone: the last one that was asked for.
        self._asked = 0
        self._coming: asyncio.Future[Batch[T] | None] | None = None

    @property
    def id(self) -> str:
        """Names it within its session; never changes."""
        return self._made.id

    @property
    def dropped(self) -> int:
        """Messages that this subscriber was too slow for."""
        return self._made.dropped

    def __enter__(self) -> Subscription[T]:
        self._thread.run(self._made.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(failed=kind is not None)

    def unsubscribe(self) -> None:
        """Want no more of it."""
        self._leave(failed=False)

    def _leave(self, failed: bool) -> None:
        number, rest = self._taken
        self._taken = number, iter(())
        if self._thread.is_ours and self._thread.is_open:
            self._thread.run(self._leaving, number, list(rest), failed)

    async def _leaving(self, taken: int, rest: list[Message[T]], failed: bool) -> None:
        # A batch that has been asked for may come, or have come, without anybody to take it.
        is_asked, self._asked = self._asked != taken, taken
        await self._made._leave(rest, failed or is_asked)

    def __iter__(self) -> Iterator[Message[T]]:
        return self

    def __next__(self) -> Message[T]:
        message = self.next_message()
        if message is None:
            raise StopIteration
        return message

    def next_message(self, timeout: float | None = None) -> Message[T] | None:
        """The next one; None after the end. MeshTimeout when none comes within so many seconds."""
        while True:
            number, messages = self._taken
            for message in messages:
                return message
            batch = self._ask(number + 1, timeout)
            if batch is None:
                return None
            self._taken = number + 1, iter(batch)

    def batches(self) -> Iterator[Batch[T]]:
        """Messages in the batches in which they came."""
        while (batch := self.next_batch()) is not None:
            yield batch

    def next_batch(self, timeout: float | None = None) -> Batch[T] | None:
        """The next one; None after the end. MeshTimeout when none comes within so many seconds.

        To ask for it says that the last one is used up.
        """
        number, _ = self._taken
        batch = self._ask(number + 1, timeout)
        if batch is not None:
            self._taken = number + 1, iter(())
        return batch

    def _ask(self, number: int, timeout: float | None) -> Batch[T] | None:
        if timeout is not None:
            timeout = seconds("timeout", timeout, zero=True)
        if self._thread.is_ours and not self._thread.is_open:
            self._made._check_entered()
            return None
        asked = self._thread.begin(self._following, number)
        try:
            return asked.result(timeout)
        except CancelledError:
            return None
        except TimeoutError:
            if asked.done():
                return asked.result()  # it came at the last moment, or failed by itself
            raise MeshTimeout(f"no message came within {timeout:g} s.") from None
        finally:
            asked.cancel()  # only the waiting for it: the batch stays asked for, and nothing is lost

    async def _following(self, number: int) -> Batch[T] | None:
        """The batch of this number, which may have been asked for before."""
        if self._coming is None or number != self._asked:
            if self._made._is_in_use:
                self._made._count()
            self._asked, self._coming = number, asyncio.ensure_future(self._made._next_batch())
            self._coming.add_done_callback(_heed)
        return await asyncio.shield(self._coming)


def _heed(future: asyncio.Future[Any]) -> None:
    """Its error is told to whoever asks for it; if nobody does, asyncio has nothing to complain of."""
    if not future.cancelled():
        future.exception()
