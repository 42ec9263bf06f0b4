"""Deliveries of a queue that arrived together.

The class is written by hand, because its items are blocking deliveries, which need the client's thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import TracebackType
from typing import Self, overload

from mesh.client.message import T
from mesh.features.queues.client import delivery
from mesh.sync.delivery import Delivery
from mesh.sync.thread import LoopThread


class Deliveries(delivery.Deliveries[T]):
    """Messages of a queue that arrived together, to be settled one by one or all together.

    A context manager: at the end of the block it acks the unsettled messages, or nacks them after an
    exception.

    Example:
        with q.consume() as jobs:
            for batch in jobs.batches():
                with batch:
                    store(batch.contents())
    """

    def __init__(self, thread: LoopThread, it: delivery.Deliveries[T]) -> None:
        super().__init__(it._queued, it._places, it._hands, it._reader)
        self._thread = thread

    @overload
    def __getitem__(self, i: int) -> Delivery[T]: ...
    @overload
    def __getitem__(self, i: slice) -> list[delivery.Delivery[T]]: ...
    def __getitem__(self, i: int | slice) -> Delivery[T] | list[delivery.Delivery[T]]:
        if isinstance(i, slice):
            return [self[place] for place in range(len(self))[i]]
        return Delivery._blocking(self._thread, super().__getitem__(i))

    def __iter__(self) -> Iterator[Delivery[T]]:
        return map(partial(Delivery._blocking, self._thread), super().__iter__())

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

    def __enter__(self) -> Self:
        self._check_undivided()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.run(super().__aexit__, kind, error, trace)
