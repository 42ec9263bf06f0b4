"""The subscribing half of a blocking client: an iterator that waits in the user's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Generic

from mesh.client import subscription
from mesh.client.arguments import seconds
from mesh.client.batch import Batch
from mesh.client.message import Message, T
from mesh.errors import MeshTimeout
from mesh.sync.thread import LoopThread


class Subscription(Generic[T]):
    """Messages of a subscription: `for message in subscription`, or `.batches()`, in one thread at a time.

    A context manager: leaving it unsubscribes, and drops unread messages except those of an inbox.

    Example:
        with m.subscribe("orders") as messages:
            for message in messages:
                print(message.value)
    """

    def __init__(self, client: object, thread: LoopThread, made: subscription.Subscription[T]) -> None:
        self._client = client  # keeps the client open
        self._thread, self._made = thread, made
        # Ctrl-C may come between any two steps. Batches are therefore numbered, so that one can be requested
        # twice, and are taken in one step. This pair is the number of the last batch taken, and its rest.
        self._taken: tuple[int, Iterator[Message[T]]] = 0, iter(())
        # Only the loop's thread uses the number of the last batch requested.
        self._asked = 0
        self._coming: asyncio.Future[Batch[T] | None] | None = None

    @property
    def id(self) -> str:
        """The id of the subscription within its session, which never changes."""
        return self._made.id

    @property
    def dropped(self) -> int:
        """The number of dropped messages, as for `mesh.Subscription`."""
        return self._made.dropped

    @property
    def unknown_gaps(self) -> int:
        """The number of gaps of unknown size, as for `mesh.Subscription`."""
        return self._made.unknown_gaps

    def __enter__(self) -> Subscription[T]:
        self._thread.run(self._made.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(failed=kind is not None)

    def unsubscribe(self) -> None:
        """End the subscription."""
        self._leave(failed=False)

    def _leave(self, failed: bool) -> None:
        number, rest = self._taken
        self._taken = number, iter(())
        if self._thread.is_ours and self._thread.is_open:
            self._thread.run(self._leaving, number, list(rest), failed)

    async def _leaving(self, taken: int, rest: list[Message[T]], failed: bool) -> None:
        # A requested batch may arrive, or have arrived, without being taken.
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
        """Return the next message, or None after the end.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No message came in time.

        Example:
            message = messages.next_message(timeout=1)
        """
        while True:
            number, messages = self._taken
            for message in messages:
                return message
            batch = self._fetch_batch(number + 1, timeout)
            if batch is None:
                return None
            self._taken = number + 1, iter(batch)

    def batches(self) -> Iterator[Batch[T]]:
        """Yield messages in the batches in which they arrived."""
        while (batch := self.next_batch()) is not None:
            yield batch

    def next_batch(self, timeout: float | None = None) -> Batch[T] | None:
        """Return the next batch, or None after the end.

        This call marks the previous batch as consumed. The rest of a batch that `next_message` began is
        skipped.

        Args:
            timeout: Seconds to wait. Default: without limit.

        Raises:
            MeshTimeout: No batch came in time.
        """
        number, _ = self._taken
        batch = self._fetch_batch(number + 1, timeout)
        if batch is not None:
            self._taken = number + 1, iter(())
        return batch

    def _fetch_batch(self, number: int, timeout: float | None) -> Batch[T] | None:
        if timeout is not None:
            timeout = seconds("timeout", timeout, zero=True)
        if self._thread.is_ours and not self._thread.is_open:
            self._made._check_entered()
            return None
        asked = self._thread.start_coroutine(self._following, number)
        try:
            return asked.result(timeout)
        except CancelledError:
            return None
        except TimeoutError:
            if asked.done():
                return asked.result()  # arrived, or failed, just before the timeout
            raise MeshTimeout(f"No message came within {timeout:g} s.") from None
        finally:
            asked.cancel()  # cancels the wait only, not the request

    async def _following(self, number: int) -> Batch[T] | None:
        """Return the batch with this number, which may have been requested before.

        A new request marks the previous batch as consumed.
        """
        if self._coming is None or number != self._asked:
            if self._made._is_in_use:
                self._made._count()
            self._asked, self._coming = number, asyncio.ensure_future(self._made._next_batch())
            self._coming.add_done_callback(_heed)
        return await asyncio.shield(self._coming)


def _heed(future: asyncio.Future[Any]) -> None:
    """Retrieve the error, so that asyncio does not log it if it is never read."""
    if not future.cancelled():
        future.exception()
