"""The hand-written part of deliveries and requests: they are settled in the client's thread."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from mesh.client.message import T
from mesh.features.queues.client import delivery
from mesh.features.services.client import request
from mesh.features.transactions.database.adapter import drive
from mesh.sync.thread import LoopThread


class ThreadDelivery(delivery.Delivery[T]):
    """A message delivered by a queue, to be settled once: acked, nacked or rejected.

    A context manager: at the end of the block it acks an unsettled message, or nacks it after an exception.
    Errors are as for `mesh.Delivery`.

    Example:
        for job in jobs:
            with job:
                handle(job.value)
    """

    # The field is always set, but fields of a Struct need defaults after a field that has one.
    _thread: LoopThread | None = None

    @classmethod
    def _blocking(cls, thread: LoopThread, it: delivery.Delivery[Any]) -> Self:
        """Return `it` as a blocking delivery, for use in the user's thread."""
        return cls(
            it._envelope,
            it._index,
            it.key,
            it.content,
            it._reader,
            it._value,
            it._tries,
            it._hands,
            it._queued,
            it._place,
            thread,
        )

    @property
    def _loop_thread(self) -> LoopThread:
        assert self._thread is not None
        return self._thread

    def __enter__(self) -> Self:
        database = self._at.database
        if database is not None:  # the user's connection stays in the user's thread
            self._loop_thread.run(self._settle_unrun, drive(database.begin(self, self._job, self._tries)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        database, settle = self._at.database, self._at.settle_remaining
        if database is not None:
            try:
                drive(database.end(self._job, is_failed=error is not None))
            except BaseException as failure:
                self._loop_thread.run(settle, self._of, failure)
                raise
        self._loop_thread.run(settle, self._of, error)


class ThreadRequest(request.Request[T]):
    """A message to an address. Its sender may wait for a reply: see `wants_reply`.

    `headers`, `sender` and `value` are those of any message; `to` is the address.

    Example:
        for request in orders:
            request.reply({"accepted": True})
    """

    _thread: LoopThread | None = None  # as in ThreadDelivery

    @classmethod
    def _blocking(cls, thread: LoopThread, it: request.Request[Any]) -> Self:
        """Return `it` as a blocking request, for use in the user's thread."""
        return cls(
            it._envelope, it._index, it.key, it.content, it._reader, it._value, it._taken, it._served, thread
        )

    @property
    def _loop_thread(self) -> LoopThread:
        assert self._thread is not None
        return self._thread

    @property
    def remaining(self) -> float:
        async def left() -> float:
            return super(ThreadRequest, self).remaining

        return self._loop_thread.run(left)
