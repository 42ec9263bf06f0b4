"""Deliveries of a queue, and how a consumer settles them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, Protocol, Self, overload

from msgspec import UNSET

from mesh.client.arguments import seconds
from mesh.client.core.client_context import Promise
from mesh.client.core.delivered_envelope import ACK, SAID, DeliveredEnvelope, Some
from mesh.client.message import Message, T, TypedMessage
from mesh.client.reading import WHATEVER, ContentReader
from mesh.client.shell import Shell
from mesh.errors import BadArgument, LeaseOver, MeshError, shown
from mesh.features.queues.client.core.queue_consumption import QueueConsumption
from mesh.values import check_text
from mesh.wire.commands import EXTEND, NACK, REJECT
from mesh.wire.limits import REASON

LONGEST = 2**32 - 1  # ms, the limit of the wire


def milliseconds(name: str, value: Any, *, zero: bool = False) -> int:
    """Convert seconds to ms, rounded up. Raises: BadArgument, for example above 2**32 - 1 ms."""
    ms = seconds(name, value, zero=zero) * 1000
    if ms > LONGEST:
        raise BadArgument(
            f"{name}={shown(value)} is invalid.", hint=f"Use at most {LONGEST // 1000:,} s (49 days)."
        )
    return -int(-ms // 1)


class SettlingClient(Protocol):
    """The client of a consumer, which limits the time of a call.

    A consumer refers to its client, because a client that nothing refers to is closed.
    """

    async def _within(
        self, timeout: float | None, work: Callable[[Promise], Coroutine[Any, Any, None]], promise: Promise, /
    ) -> None: ...


class Hands:
    """Settles the deliveries of one consumer.

    With `once` the consumer leaves after the first ack, nack or reject.
    """

    __slots__ = ("_client", "_shell", "once", "taking")
    taking: QueueConsumption
    once: bool

    def __init__(
        self, client: SettlingClient, shell: Shell, taking: QueueConsumption, once: bool = False
    ) -> None:
        self._client, self._shell = client, shell
        self.taking, self.once = taking, once

    async def settle(self, what: int, of: Sequence[Some], delay: int = 0, reason: str = "") -> None:
        """Settle deliveries as `what` says, and wait until the node has stored the settlement.

        Raises: LocalError SETTLED, with none settled; LeaseOver for deliveries that are no longer this
        consumer's, with the others settled; Closed.
        """
        promise, late = self._settle_messages(what, of, delay, reason)
        if promise is not None:
            await self._client._within(None, kept, promise)
        if late is not None:
            raise late

    def _settle_messages(
        self, what: int, of: Sequence[Some], delay: int = 0, reason: str = ""
    ) -> tuple[Promise | None, LeaseOver | None]:
        core, late = self._shell.now(), None
        some: list[Some] = []
        for lot, places in of:
            ours = []
            for place in places:
                try:
                    self.taking.check(lot, place)
                    ours.append(place)
                except LeaseOver as error:
                    late = error
            if ours:
                some.append((lot, ours))
        if not some:
            return None, late
        promise = self.taking.settle_messages(what, some, delay, reason)
        if self.once and what != EXTEND:
            core.queues.leave(self.taking)
        return promise, late

    async def settle_remaining(self, of: Sequence[Some], error: BaseException | None) -> None:
        """Settle the deliveries that the user left unsettled when the block ended.

        Without an error they are acked. With an error they are nacked, without waiting for the node, and a
        failure to do so is ignored.
        """
        left = [(lot, places) for lot, all_ in of if (places := [p for p in all_ if lot.states[p] != SAID])]
        if error is None and left:
            await self.settle(ACK, left)
        elif left:
            with suppress(MeshError):  # the user's exception matters more
                self._settle_messages(NACK, left)


async def kept(promise: Promise) -> None:
    """Wait for `promise`, as a coroutine function that `_within` can call."""
    await promise


class QueuedMessage(TypedMessage[T]):
    """A message of a queue, with its number of deliveries and its group."""

    _tries: int = 0

    @property
    def attempt(self) -> int:
        """The number of this delivery of the message: 1, 2, ..."""
        return self._tries + 1

    @property
    def redelivered(self) -> bool:
        """Whether the message was or may have been delivered before. If so, its work may already be done."""
        return self._tries > 0

    @property
    def group(self) -> str:
        """The message group, whose messages all go to one consumer at a time; "" without one."""
        put = self._envelope.put
        return put[2] if put else ""

    @property
    def priority(self) -> int:
        """The priority, 0 (lowest) to 9."""
        put = self._envelope.put
        return put[0] if put else 5

    def __repr__(self) -> str:
        key = f"{self.key!r}, " if self.key else ""
        return f"{type(self).__name__}({key}{self.content[:40]!r}, attempt={self.attempt}, id={self.id!r})"


class Delivery(QueuedMessage[T]):
    """A message delivered by a queue, to be settled once: acked, nacked or rejected.

    A context manager: at the end of the block it acks an unsettled message, or nacks it after an exception.
    Each call waits until the node has stored the outcome. Settling twice raises LocalError with the code
    SETTLED; LeaseOver means that the message is no longer this consumer's.

    Example:
        async for job in jobs:
            async with job:
                handle(job.value)
    """

    # These fields are always set, but fields of a Struct need defaults after a field that has one.
    _hands: Hands | None = None
    _lot: DeliveredEnvelope | None = None
    _place: int = 0

    @property
    def _of(self) -> list[Some]:
        assert self._lot is not None
        return [(self._lot, (self._place,))]

    @property
    def _at(self) -> Hands:
        assert self._hands is not None
        return self._hands

    async def ack(self) -> None:
        """Acknowledge the message: its work is done, and the queue deletes it."""
        await self._at.settle(ACK, self._of)

    async def nack(self, *, delay: float = 0.0) -> None:
        """Return the message to the queue, to be delivered again, unless it has failed too often.

        After the queue's `max_attempts` failed deliveries, the queue dead-letters the message.

        Args:
            delay: Seconds until the redelivery, at least. Default: 0.

        Raises:
            LocalError: The message was settled before; the code is SETTLED.
            LeaseOver: The message is no longer this consumer's.
            BadArgument: The delay is invalid.

        Example:
            await job.nack(delay=30)
        """
        await self._at.settle(NACK, self._of, milliseconds("delay", delay, zero=True))

    async def reject(self, reason: str = "") -> None:
        """Move the message to the dead letters.

        Args:
            reason: The cause, which `mesh dlq ls` shows, in up to 200 characters. Default: none.

        Raises:
            LocalError: The message was settled before; the code is SETTLED.
            LeaseOver: The message is no longer this consumer's.
            BadArgument: The reason is too long.

        Example:
            await job.reject("no such invoice")
        """
        check_text(reason, "reason", REASON, BadArgument)
        await self._at.settle(REJECT, self._of, reason=reason)

    async def extend(self, seconds: float) -> None:
        """Extend the lease of the message.

        Args:
            seconds: Time from now until the lease ends.

        Raises:
            LocalError: The message was settled before; the code is SETTLED.
            LeaseOver: The message is no longer this consumer's.
            BadArgument: The time is invalid.

        Example:
            await job.extend(600)
        """
        await self._at.settle(EXTEND, self._of, milliseconds("seconds", seconds))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._at.settle_remaining(self._of, error)


def made_of(
    message: Message[Any], lot: DeliveredEnvelope, place: int, hands: Hands, reader: ContentReader | None
) -> Delivery[Any]:
    """Return the delivery of one message to its consumer."""
    m, tries = message, lot.tries[place] if lot.tries else 0
    return Delivery(
        m._envelope, m._index, m.key, m.content, reader or WHATEVER, UNSET, tries, hands, lot, place
    )


class Deliveries(Sequence[Delivery[T]], Generic[T]):
    """Messages of a queue that arrived together, to be settled one by one or all together.

    A context manager: at the end of the block it acks the unsettled messages, or nacks them after an
    exception.

    Example:
        async with q.consume() as jobs:
            async for batch in jobs.batches():
                async with batch:
                    store(batch.contents())
    """

    def __init__(
        self, lot: DeliveredEnvelope, places: Sequence[int], hands: Hands, reader: ContentReader | None
    ) -> None:
        self._lot, self._places = lot, places
        self._hands, self._reader = hands, reader

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, i: int) -> Delivery[T]: ...
    @overload
    def __getitem__(self, i: slice) -> list[Delivery[T]]: ...
    def __getitem__(self, i: int | slice) -> Delivery[T] | list[Delivery[T]]:
        if isinstance(i, slice):
            return [self[place] for place in range(len(self))[i]]
        place = self._places[i]
        return made_of(self._lot.batch[place], self._lot, place, self._hands, self._reader)

    def __iter__(self) -> Iterator[Delivery[T]]:
        lot = self._lot
        if len(self) < len(lot):
            return (self[i] for i in range(len(self)))
        return (made_of(m, lot, i, self._hands, self._reader) for i, m in enumerate(lot.batch))

    def contents(self) -> list[bytes]:
        """Return the content of each message."""
        if len(self) == len(self._lot):
            return self._lot.batch.contents()
        e, indices = self._lot.batch._envelope, self._lot.batch._indices
        return [e.message(place if indices is None else indices[place])[1] for place in self._places]

    async def ack(self) -> None:
        """Acknowledge all unsettled messages. Errors are as for a Delivery."""
        await self._hands.settle(ACK, self._rest())

    async def nack(self, *, delay: float = 0.0) -> None:
        """Return all unsettled messages to the queue, as `Delivery.nack` does.

        Args:
            delay: Seconds until the redelivery, at least. Default: 0.

        Raises:
            LocalError, LeaseOver, BadArgument: As for `Delivery.nack`.
        """
        await self._hands.settle(NACK, self._rest(), milliseconds("delay", delay, zero=True))

    def _rest(self) -> list[Some]:
        """Return the unsettled messages; if there are none, all of them, so that settling raises SETTLED."""
        rest = [place for place in self._places if self._lot.states[place] != SAID]
        return [(self._lot, rest or self._places)]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._hands.settle_remaining([(self._lot, self._places)], error)
