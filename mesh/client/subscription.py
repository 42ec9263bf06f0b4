"""The subscribing half of a client: iterators over the messages of a subscription."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol

from mesh.client.batch import Batch, TypedBatch
from mesh.client.core.calls import Pending
from mesh.client.core.intake import Intake
from mesh.client.core.member import GroupMember
from mesh.client.core.several import Several
from mesh.client.message import Message, T
from mesh.client.oneloop import check_loop, running_loop
from mesh.client.reading import ContentReader
from mesh.client.shell import Shell
from mesh.errors import BadContent, Closed

if TYPE_CHECKING:
    from mesh.client.tracing import Tracer


log = logging.getLogger("mesh.client")

OpenAnswers = Sequence[Pending | None]


class Patient(Protocol):
    """The client of a subscription, which limits the time of a call.

    The client stays open while a subscription refers to it.
    """

    async def _within(
        self,
        timeout: float | None,
        work: Callable[[OpenAnswers], Coroutine[Any, Any, None]],
        answers: OpenAnswers,
        /,
    ) -> None: ...


class Subscription(Generic[T]):
    """Messages of one query, or of several: `async for message in subscription`, or `.batches()`.

    A context manager: leaving it unsubscribes. A subscription survives the loss of its node: it is renewed on
    the next connection, without repeating messages that already arrived.

    Example:
        async with m.subscribe("orders") as messages:
            async for message in messages:
                print(message.value)
    """

    def __init__(
        self,
        client: Patient,
        shell: Shell,
        intake: Intake | Several | GroupMember,
        tracer: Tracer | None = None,
    ) -> None:
        self._client = client
        self._tracer = tracer
        self._shell, self._intake = shell, intake
        # The rest of a batch whose messages are read one by one.
        self._batch: Iterator[Message[T]] | None = None
        self._arrived: asyncio.Event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None  # the loop in which it was entered

    @property
    def id(self) -> str:
        """The id of the subscription within its session, which never changes."""
        return str(self._intake.number)

    @property
    def dropped(self) -> int:
        """The number of messages dropped because they were read too slowly or exceeded a limit in transit."""
        return self._intake.dropped

    @property
    def unknown_gaps(self) -> int:
        """The number of gaps of unknown size: transient messages may be missing, as the client's node ended.

        Such a gap is not counted before the first transient message, and not in `dropped`.
        """
        return self._intake.unknown_gaps

    @property
    def _is_in_use(self) -> bool:
        return self._intake.is_in_use

    async def __aenter__(self) -> Subscription[T]:
        keeper = self._keeper()
        if self._intake.error is not None:
            raise Closed("The subscription has ended.", hint="Create another one: subscribe().")
        self._intake.stirred = self._arrived.set
        self._loop, before = running_loop(), self._loop
        entered: list[Any] = []
        try:
            pending = []
            for strand in self._intake.strands:
                pending.append(keeper.register(strand))
                entered.append(strand)
            await self._client._within(None, self._replies, pending)
        except BaseException:
            for strand in entered:
                keeper.give_up(strand)
            self._loop = before
            raise
        return self

    def _keeper(self) -> Any:
        core = self._shell.now()
        if not isinstance(self._intake, GroupMember):
            return core.subscriptions
        core.features.check_services()
        return core.services

    async def _replies(self, pending: OpenAnswers) -> None:
        asked = [each for each in pending if each is not None]
        try:
            for each in asked:
                await each.promise
        finally:
            for each in asked:
                self._shell.core.calls.drop_pending(each)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        rest = list(self._batch or ())
        await self._leave(rest, failed=kind is not None)

    async def unsubscribe(self) -> None:
        """End the subscription."""
        await self._leave(list(self._batch or ()))

    async def _leave(self, rest: Sequence[Message[Any]], failed: bool = False) -> None:
        """End the subscription. `rest` contains the unread messages of the last batch.

        An inbox delivers `rest` first when it is opened again, or the whole batch if its user `failed`.
        """
        if self._intake.error is not None:
            return
        self._batch = None
        keeper = self._keeper()
        self._intake.put_back(rest, failed)
        await self._replies([keeper.unregister(strand) for strand in self._intake.strands])

    def __aiter__(self) -> Subscription[T]:
        return self

    async def __anext__(self) -> Message[T]:
        while True:
            if self._batch is not None:
                message = next(self._batch, None)
                if message is not None:
                    return message
                self._batch = None
                self._count()
            batch = await self._next_batch()
            if batch is None:
                raise StopAsyncIteration
            self._batch = iter(batch)

    async def batches(self) -> AsyncIterator[Batch[T]]:
        """Yield messages in the batches in which they arrived.

        Example:
            async for batch in messages.batches():
                print(len(batch))
        """
        while True:
            batch = await self._next_batch()
            if batch is None:
                return
            yield batch
            self._count()

    async def _next_batch(self) -> Batch[T] | None:
        """Return the next batch, which `_count` marks as consumed; None after a deliberate end."""
        intake = self._intake
        while not intake.is_left:
            batch = intake.next_batch()
            if batch is not None:
                if self._tracer is not None:
                    self._tracer.trace_received(batch)
                return batch
            if intake.error is not None:
                if isinstance(intake.error, Closed):
                    return None
                raise intake.error
            self._check_entered()
            check_loop(self._loop)
            self._arrived.clear()
            await self._arrived.wait()
        return None

    def _check_entered(self) -> None:
        if self._loop is None:
            hint = "Read it inside `async with m.subscribe(...)` or `m.inbox()`; in mesh.sync with `with`."
            raise Closed("The subscription is not open.", hint=hint)

    def _count(self) -> None:
        self._intake.mark_consumed()

    def _hold(self) -> Callable[[], None]:
        return self._intake.hold_batch()


class TypedSubscription(Subscription[T]):
    """A subscription whose messages are decoded as a type: `message.value`."""

    def __init__(
        self,
        client: Patient,
        shell: Shell,
        intake: Intake | Several | GroupMember,
        reader: ContentReader,
        tracer: Tracer | None = None,
    ) -> None:
        super().__init__(client, shell, intake, tracer)
        self._reader = reader

    async def _next_batch(self) -> Batch[T] | None:
        while (batch := await super()._next_batch()) is not None:
            typed = TypedBatch[T](batch, self._reader)
            if typed.state != "INITIAL":
                return typed
            if len(readable := _readable(typed)) or typed.gap:
                return readable
            self._count()
        return None


def _readable(batch: TypedBatch[T]) -> TypedBatch[T]:
    """Return the retained values that can be decoded, and log the others.

    Retained values are older than the subscription, so they must not end it.
    """
    found, unread = list[Message[T]](), list[BadContent]()
    for message in batch:
        try:
            _ = message.value
        except BadContent as error:
            unread.append(error)
        else:
            found.append(message)
    if not unread:
        return batch
    more = f" {len(unread) - 1:,} more were skipped." if len(unread) > 1 else ""
    log.warning("a retained value is skipped: %s%s", unread[0], more)
    return batch.of(found)
