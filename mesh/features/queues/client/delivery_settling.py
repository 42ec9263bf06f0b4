"""The settling of deliveries of one consumer: acks, nacks, rejects and lease extensions."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Protocol

from mesh.client.core.client_context import Promise
from mesh.client.core.delivered_envelope import ACK, SAID, Some
from mesh.client.job_database import JobDatabase
from mesh.client.shell import Shell
from mesh.errors import LeaseOver, MeshError
from mesh.features.queues.client.core.queue_consumption import QueueConsumption
from mesh.wire.commands import EXTEND, NACK


class SettlingClient(Protocol):
    """The client of a consumer, which limits the time of a call.

    A consumer refers to its client, because a client that nothing refers to is closed.
    """

    async def _within(
        self, timeout: float | None, work: Callable[[Promise], Coroutine[Any, Any, None]], promise: Promise, /
    ) -> None: ...


class DeliverySettling:
    """The acks, nacks, rejects and lease extensions of one consumer; it exists as long as the consumer.

    With `once` the consumer leaves after the first ack, nack or reject. `database` is that of its jobs.
    """

    __slots__ = ("_client", "_shell", "database", "once", "taking")
    taking: QueueConsumption
    once: bool
    database: JobDatabase | None

    def __init__(
        self,
        client: SettlingClient,
        shell: Shell,
        taking: QueueConsumption,
        once: bool = False,
        database: JobDatabase | None = None,
    ) -> None:
        self._client, self._shell = client, shell
        self.taking, self.once, self.database = taking, once, database

    async def settle(
        self, what: int, of: Sequence[Some], delay: int = 0, reason: str = "", is_implicit: bool = False
    ) -> None:
        """Settle deliveries as `what` says, and wait until the node has stored the settlement.

        With `is_implicit`, at the end of a block, the call waits for no other node than the client's.

        Raises: LocalError SETTLED, with none settled; LeaseOver for deliveries that are no longer this
        consumer's, with the others settled; Closed.
        """
        promise, late = self._settle_messages(what, of, delay, reason, is_implicit)
        if promise is not None:
            await self._client._within(None, kept, promise)
        if late is not None:
            raise late

    def _settle_messages(
        self, what: int, of: Sequence[Some], delay: int = 0, reason: str = "", is_implicit: bool = False
    ) -> tuple[Promise | None, LeaseOver | None]:
        core, late = self._shell.now(), None
        some: list[Some] = []
        for queued, places in of:
            ours = []
            for place in places:
                try:
                    self.taking.check_settleable(queued, place)
                    ours.append(place)
                except LeaseOver as error:
                    late = error
            if ours:
                some.append((queued, ours))
        if not some:
            return None, late
        promise = self.taking.settle_messages(what, some, delay, reason, is_implicit)
        if self.once and what != EXTEND:
            core.queues.end_consumption(self.taking)
        return promise, late

    async def settle_remaining(self, of: Sequence[Some], error: BaseException | None) -> None:
        """Settle the deliveries that the user left unsettled when the block ended.

        Without an error they are acked (see law 3 of `settling.py`). With an error they are nacked, without
        waiting for the node, and a failure to do so is ignored.
        """
        left = [
            (queued, places)
            for queued, all_ in of
            if (places := [p for p in all_ if queued.states[p] != SAID])
        ]
        if error is None and left:
            try:
                await self.settle(ACK, left, is_implicit=True)
            except LeaseOver:
                if self.database is None:  # otherwise the job is noted, and done before when it comes again
                    raise
        elif left:
            with suppress(MeshError):  # the user's exception matters more
                self._settle_messages(NACK, left)


async def kept(promise: Promise) -> None:
    """Wait for `promise`, as a coroutine function that `_within` can call."""
    await promise
