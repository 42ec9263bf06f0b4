"""The consumer of a queue: `async with q.consume() as jobs: async for job in jobs`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from mesh.client.core.delivered_envelope import ACK, DeliveredEnvelope, Some
from mesh.client.job_database import JobDatabase
from mesh.client.message import T
from mesh.client.oneloop import check_loop
from mesh.client.reading import ContentReader
from mesh.client.shell import Shell
from mesh.errors import BadType, Closed
from mesh.features.queues.client.core.queue_consumption import QueueConsumption
from mesh.features.queues.client.delivery import Deliveries, Delivery, made_of
from mesh.features.queues.client.delivery_settling import DeliverySettling, SettlingClient, kept
from mesh.shortening import shown

R = TypeVar("R")


class Consumer(Generic[T]):
    """A consumer of one queue: `async for job in consumer`, or `.batches()`, in one task or in several.

    A context manager: inside it, messages of the queue are delivered here and stay with this consumer until
    they are settled or their lease is over. A consumer survives the loss of its node, and keeps its messages
    if it reconnects within 5 s. On leaving, all unsettled messages return to the queue.

    Example:
        async with q.consume() as jobs:
            async for job in jobs:
                async with job:
                    print(job.value)
    """

    def __init__(
        self,
        client: SettlingClient,
        shell: Shell,
        taking: QueueConsumption,
        reader: ContentReader | None,
        once: bool = False,
        database: JobDatabase | None = None,
    ) -> None:
        self._client = client
        self._shell, self._taking, self._reader = shell, taking, reader
        self._hands = DeliverySettling(client, shell, taking, once, database)
        self._arrived: asyncio.Event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None  # the loop in which it was entered

    def _check_new(self) -> None:
        self._shell.now().features.check_queues()
        if self._taking.error is not None or self._loop is not None:
            hint = "Create another one with consume(), or subscribe(durable=NAME)."
            raise Closed("The consumer was opened before.", hint=hint)

    async def __aenter__(self) -> Self:
        self._check_new()
        core = self._shell.now()
        self._taking.stirred = self._arrived.set
        self._loop = self._shell.loop
        try:
            await self._client._within(None, kept, core.queues.register(self._taking))
        except BaseException:
            core.queues.give_up(self._taking)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop consuming. Unsettled messages return to the queue."""
        if self._taking.error is None and self._loop is not None:
            promise = self._shell.now().queues.end_consumption(self._taking)
            if promise is not None:
                await self._client._within(None, kept, promise)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delivery[T]:
        found = await self._next(self._take_delivery)
        if found is None:
            raise StopAsyncIteration
        return found

    async def batches(self) -> AsyncIterator[Deliveries[T]]:
        """Yield messages in the batches in which they arrived. Each message must be settled."""
        while (found := await self._next(self._take_batch)) is not None:
            yield found

    async def _next_batch(self) -> Deliveries[T]:
        found = await self._next(self._take_batch)
        if found is None:
            raise StopAsyncIteration
        return found

    async def ack(self, deliveries: Iterable[Delivery[Any]]) -> None:
        """Acknowledge several deliveries together.

        If some are no longer this consumer's, the others are acknowledged anyway.

        Args:
            deliveries: Unsettled deliveries of this consumer.

        Raises:
            BadType: A delivery did not come from this consumer.
            LocalError: A delivery was settled before, with the code SETTLED. None is acknowledged.
            LeaseOver: A delivery is no longer this consumer's.

        Example:
            await jobs.ack(finished)
        """
        try:
            of = list(deliveries)
        except TypeError:
            what = f"{shown(deliveries)} is not a list of deliveries."
            raise BadType(what, hint="Pass a list of deliveries of this consumer.") from None
        for each in of:
            if not isinstance(each, Delivery) or each._hands is not self._hands:
                raise BadType(
                    f"{shown(each)} did not come from this consumer.",
                    hint="Only the consumer that received a delivery can settle it.",
                )
        places: dict[DeliveredEnvelope, dict[int, None]] = {}
        for each in of:
            assert each._queued is not None
            places.setdefault(each._queued, {})[each._place] = None
        some: list[Some] = [(queued, list(of_it)) for queued, of_it in places.items()]
        if some:
            await self._hands.settle(ACK, some)

    def _take_delivery(self) -> Delivery[T] | None:
        found = self._taking.take_message()
        if found is None:
            return None
        queued, place, message = found
        return made_of(message, queued, place, self._hands, self._reader)

    def _take_batch(self) -> Deliveries[T] | None:
        found = self._taking.take_batch()
        return None if found is None else Deliveries(*found, self._hands, self._reader)

    async def _next(self, take: Callable[[], R | None]) -> R | None:
        """Return the next result of `take` that is not None, or None after consumer or client was closed.

        Raises: any other error that ended the consumer.
        """
        while self._taking.error is None:
            check_loop(self._loop)
            if self._loop is None:
                block = "`async with q.consume() as jobs:`"
                hint = f"Read it inside its block, such as {block}; in mesh.sync with `with`."
                raise Closed("The consumer is not open.", hint=hint)
            self._shell.now()
            if (found := take()) is not None:
                return found
            self._arrived.clear()
            await self._arrived.wait()
        if isinstance(self._taking.error, Closed):
            return None
        raise self._taking.error
