"""The subscribing half of a blocking client: an iterator that waits in the user's thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from types import TracebackType

from mesh.client import subscription
from mesh.client.message import Batch, Message
from mesh.errors import MeshTimeout
from mesh.sync.thread import LoopThread


class Subscription:
    """Messages of one query: `for message in subscription`, or `.batches()`; in one thread at a time.

    A context manager: leaving it unsubscribes. What arrived and was not taken is then gone.
    """

    def __init__(self, thread: LoopThread, made: subscription.Subscription) -> None:
        self._thread, self._made = thread, made
        self._messages: Iterator[Message] = iter(())
        self._asked: Future[Batch | None] | None = None

    @property
    def id(self) -> str:
        """Names it within its session; never changes."""
        return self._made.id

    @property
    def dropped(self) -> int:
        """Messages that this subscriber was too slow for."""
        return self._made.dropped

    def __enter__(self) -> Subscription:
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
        rest, self._messages = list(self._messages), iter(())
        # A batch that has been asked for may come, or have come, without anybody to take it.
        asked, self._asked = self._asked, None
        if self._thread.is_ours and self._thread.is_open:
            self._thread.run(self._made.leave, rest, failed or asked is not None)

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        message = self.next_message()
        if message is None:
            raise StopIteration
        return message

    def next_message(self, timeout: float | None = None) -> Message | None:
        """The next one; None after the end. MeshTimeout when none comes within so many seconds."""
        while True:
            for message in self._messages:
                return message
            batch = self.next_batch(timeout)
            if batch is None:
                return None
            self._messages = iter(batch)

    def batches(self) -> Iterator[Batch]:
        """Messages in the batches in which they came."""
        while (batch := self.next_batch()) is not None:
            yield batch

    def next_batch(self, timeout: float | None = None) -> Batch | None:
        """The next one; None after the end. MeshTimeout when none comes within so many seconds.

        To ask for it says that the last one is used up.
        """
        if self._asked is None:
            if self._thread.is_ours and not self._thread.is_open:
                return None
            self._asked = self._thread.begin(self._following)
        asked = self._asked
        try:
            batch = asked.result(timeout)  # if this is interrupted it stays asked, and nothing is lost
        except CancelledError:
            batch = None
        except TimeoutError:
            if not asked.done():
                raise MeshTimeout(f"no message came within {timeout:g} s.") from None
            batch = asked.result()  # it came at the last moment, or failed by itself
        self._asked = None
        return batch

    async def _following(self) -> Batch | None:
        if self._made.is_in_use:
            self._made.count()
        return await self._made.next_batch()
