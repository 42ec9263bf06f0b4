"""Deliveries of a queue, and how a consumer settles them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Self, overload

from msgspec import UNSET

from mesh.client.arguments import seconds
from mesh.client.core.delivered_envelope import ACK, SAID, DeliveredEnvelope, Some
from mesh.client.job_database import JobStart
from mesh.client.message import Message, T, TypedMessage
from mesh.client.reading import WHATEVER, ContentReader
from mesh.errors import BadArgument, Closed
from mesh.features.queues.client.delivery_settling import DeliverySettling
from mesh.shortening import shown
from mesh.values import check_text
from mesh.wire.commands import EXTEND, NACK, REJECT
from mesh.wire.limits import REASON

LONGEST = 2**32 - 1  # ms, the limit of the wire
DEAD_INBOX = "dead-inbox"  # reason of a job that may have been done, as its inbox row may be deleted


def milliseconds(name: str, value: Any, *, zero: bool = False) -> int:
    """Convert seconds to ms, rounded up. Raises: BadArgument, for example above 2**32 - 1 ms."""
    ms = seconds(name, value, zero=zero) * 1000
    if ms > LONGEST:
        raise BadArgument(
            f"{name}={shown(value)} is too large.", hint=f"Use at most {LONGEST // 1000:,} s (49 days)."
        )
    return -int(-ms // 1)


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
    Each call waits until the node has stored the outcome; the end of a block does not wait for a node that
    the client has left. Settling twice raises LocalError with the code
    SETTLED; LeaseOver means that the message is no longer this consumer's.

    Example:
        async for job in jobs:
            async with job:
                handle(job.value)
    """

    # These fields are always set, but fields of a Struct need defaults after a field that has one.
    _hands: DeliverySettling | None = None
    _queued: DeliveredEnvelope | None = None
    _place: int = 0

    @property
    def _of(self) -> list[Some]:
        assert self._queued is not None
        return [(self._queued, (self._place,))]

    @property
    def _at(self) -> DeliverySettling:
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

    @property
    def db(self) -> Any:
        """The connection of `consume(inbox=…)`, in the transaction of this job. Raises: Closed outside."""
        database = self._at.database
        found = None if database is None else database.connection(self._job)
        if found is None:
            what = "The job has no open transaction of a database."
            raise Closed(what, hint="Use consume(inbox=…), and job.db inside `async with job:`.")
        return found

    @property
    def done_before(self) -> bool:
        """Whether there is nothing to do: the job was committed before, or was returned or rejected.

        Always False without `consume(inbox=…)`.
        """
        database = self._at.database
        return database is not None and database.is_done(self._job)

    @property
    def _job(self) -> tuple[DeliveredEnvelope, int]:
        assert self._queued is not None
        return self._queued, self._place

    async def __aenter__(self) -> Self:
        database = self._at.database
        if database is not None:
            await self._settle_unrun(await database.begin(self, self._job, self._tries))
        return self

    async def _settle_unrun(self, start: JobStart) -> None:
        """Settle a job that must not run."""
        if start is JobStart.GIVE_BACK:
            await self._at.settle(NACK, self._of)
        elif start is JobStart.REJECT:
            await self._at.settle(REJECT, self._of, reason=DEAD_INBOX)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        database = self._at.database
        if database is not None:
            try:
                await database.end(self._job, is_failed=error is not None)
            except BaseException as failure:
                await self._at.settle_remaining(self._of, failure)
                raise
        await self._at.settle_remaining(self._of, error)


def made_of(
    message: Message[Any],
    queued: DeliveredEnvelope,
    place: int,
    hands: DeliverySettling,
    reader: ContentReader | None,
) -> Delivery[Any]:
    """Return the delivery of one message to its consumer."""
    m, tries = message, queued.tries[place] if queued.tries else 0
    return Delivery(
        m._envelope, m._index, m.key, m.content, reader or WHATEVER, UNSET, tries, hands, queued, place
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
        self,
        queued: DeliveredEnvelope,
        places: Sequence[int],
        hands: DeliverySettling,
        reader: ContentReader | None,
    ) -> None:
        self._queued, self._places = queued, places
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
        return made_of(self._queued.batch[place], self._queued, place, self._hands, self._reader)

    def __iter__(self) -> Iterator[Delivery[T]]:
        queued = self._queued
        if len(self) < len(queued):
            return (self[i] for i in range(len(self)))
        return (made_of(m, queued, i, self._hands, self._reader) for i, m in enumerate(queued.batch))

    def contents(self) -> list[bytes]:
        """Return the content of each message."""
        if len(self) == len(self._queued):
            return self._queued.batch.contents()
        e, indices = self._queued.batch._envelope, self._queued.batch._indices
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
        rest = [place for place in self._places if self._queued.states[place] != SAID]
        return [(self._queued, rest or self._places)]

    def _check_undivided(self) -> None:
        """Raise BadArgument for a consumer with an inbox, which notes job by job."""
        if self._hands.database is not None:
            hint = "Use `async for job in jobs: async with job:`."
            raise BadArgument("A batch has no transaction of a database; each job has one.", hint=hint)

    async def __aenter__(self) -> Self:
        self._check_undivided()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._hands.settle_remaining([(self._queued, self._places)], error)
