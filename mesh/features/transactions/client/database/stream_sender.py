"""Delivers the rows of one stream of an outbox."""

# Law 1: a sender uses a stream only within LEASE of the request that renewed its lease, by its own clock.
#   Then it takes the stream anew, with another visit of the session, and reads the table from its start.
# Law 2: a row stays until its final answer. A row that only waits at the node is not deleted.
# Law 3: a refused number is never used again.

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

from mesh.errors import MeshError
from mesh.features.transactions.client.database.numbered_outbox import FinalAnswer
from mesh.features.transactions.client.database.stream_client import LOST, StreamClient
from mesh.features.transactions.database.outbox_table import LEASE, OutboxTable, StoredMessage, StreamRow
from mesh.features.transactions.model.outbox_rules import is_temporary

T = TypeVar("T")

IN_FLIGHT = 500  # rows without any answer
HELD = 10_000  # rows without a final answer
PAUSE = 1.0  # s until a row that found no room gets another number
SMALL, LARGE = 16, 4 << 20  # rows of the first batch, and bytes above which the next one is smaller


class Run(Protocol):
    """Runs a method of the table in the thread of the database."""

    def __call__(self, function: Callable[..., T], *values: Any) -> Awaitable[T]: ...


class StreamSender:
    """The sender of one stream, from the first row that is due until the sender ends.

    `connect` makes a client of the stream's session. `now` is a monotonic clock in s.
    """

    def __init__(
        self,
        stream: int,
        table: OutboxTable,
        run: Run,
        connect: Callable[[StreamRow], Awaitable[StreamClient]],
        now: Callable[[], float],
    ) -> None:
        self.stream = stream
        self._table, self._run, self._connect, self._now = table, run, connect, now
        self._client: StreamClient | None = None
        self._until = self._renew_at = 0.0  # of the lease, by `now`
        self._up_at = 0.0  # when the client had a connection last
        self._left_at = 0  # next number as this sender wrote it; 0: the stream was just taken
        self._known = 0  # highest number of an earlier sender
        self._batch = SMALL
        self._paused: list[tuple[int, float]] = []  # refused numbers, until when

    @property
    def is_owner(self) -> bool:
        return self._client is not None

    async def turn(self, has_rows: bool) -> bool:
        """Settle answered rows and send due ones, and return whether there may be more to do at once.

        Raises: MeshError without a node, the driver's error.
        """
        client = await self._leased()
        if client is None:
            return False
        token = client.changed_session()
        if token:
            await self._run(self._table.set_token, self.stream, token)
        elif not client.is_up:
            await self._on_down(client)
            return False
        self._up_at = self._now()
        settled, has_settled = await self._settled(client)
        room = self._room(client)
        if not (has_rows and room):
            if settled:
                await self._run(self._table.delete, self.stream, settled)
            return has_settled
        given = self.stream, settled, self._left_at, client.sent, room, lambda: self._now() >= self._until
        batch = await self._run(self._table.next_batch, *given)
        if batch is None or batch.is_restored:
            await self.leave()
            return batch is not None
        self._left_at = batch.left_at
        await self._send(client, batch.rows)
        return bool(batch.rows or batch.numbered) or has_settled

    # --- the lease --------------------------------------------------------------------------------------

    async def _leased(self) -> StreamClient | None:
        """Return the client while this sender owns the stream; a stream without an owner is taken."""
        if self._client is not None and self._now() >= self._until:
            await self.leave()
        asked = self._now()
        if self._client is not None:
            if asked < self._renew_at or await self._run(self._table.renew, self.stream):
                self._extend(asked if asked >= self._renew_at else None)
                return self._client
            await self.leave()
            return None
        row = await self._run(self._table.take, self.stream)
        if row is None:
            return None
        self._extend(asked)
        self._left_at, self._batch, self._paused = 0, SMALL, []
        try:
            self._client = await self._connect(row)
        except MeshError as error:
            if error.code == "BAD_TOKEN":  # the node or its keys are others
                await self._run(self._table.set_token, self.stream, b"")
            await self._run(self._table.release, [self.stream])
            raise
        self._up_at = self._now()
        self._known = await self._run(self._table.highest, self.stream)
        return self._client

    def _extend(self, asked: float | None) -> None:
        if asked is not None:
            self._until, self._renew_at = asked + LEASE, asked + LEASE / 3

    async def leave(self) -> None:
        """Give the connection up. The session stays for the next sender."""
        client, self._client = self._client, None
        if client is not None:
            await client.leave()

    async def _on_down(self, client: StreamClient) -> None:
        """Leave the stream if the session is another sender's, or its node is unreachable for too long."""
        if client.refusal == "BAD_TOKEN":
            await self._run(self._table.set_token, self.stream, b"")
        if client.refusal in (*LOST, "BAD_TOKEN") or self._now() > self._up_at + LEASE:
            await self._run(self._table.release, [self.stream])
            await self.leave()

    # --- rows -------------------------------------------------------------------------------------------

    def _room(self, client: StreamClient) -> int:
        outbox = client.outbox
        if not outbox.open:
            return 0
        return max(0, min(self._batch, IN_FLIGHT - outbox.unanswered, HELD - outbox.held))

    async def _send(self, client: StreamClient, rows: Sequence[StoredMessage]) -> None:
        """Send rows. Without any, a row below the sent ones came with a restore."""
        if rows:
            for number, why in client.send_rows(rows, self._known):
                await self._run(self._table.refuse, self.stream, number, why)
            size = sum(len(row.content) for row in rows)
            self._batch = max(1, self._batch // 4) if size > LARGE else min(IN_FLIGHT, 2 * self._batch)
        elif client.outbox.is_idle and not self._paused:
            lowest = await self._run(self._table.lowest, self.stream)
            if 0 < lowest <= client.sent:
                await self.leave()

    async def _settled(self, client: StreamClient) -> tuple[list[tuple[int, int]], bool]:
        """Return the ranges of accepted rows, and whether any rows were settled. Note why others were not."""
        accepted: list[tuple[int, int]] = []
        finals = client.outbox.take_finals()
        for final in finals:
            if client.has_refused(*final):
                accepted += await self._settle_each(client, final)
            else:
                accepted.append((final.first, final.last))
        due = [number for number, until in self._paused if until <= self._now()]
        for number in due:
            await self._run(self._table.refuse, self.stream, number, None)
        self._paused = [each for each in self._paused if each[0] not in due]
        return accepted, bool(finals or due)

    async def _settle_each(self, client: StreamClient, final: FinalAnswer) -> list[tuple[int, int]]:
        accepted: list[tuple[int, int]] = []
        for number in range(final.first, final.last + 1):
            error = client.refusal_of(final.domain, number)
            if error is None:
                accepted.append((number, number))
            elif is_temporary(error.code):
                self._paused.append((number, self._now() + PAUSE))
            else:
                await self._run(self._table.refuse, self.stream, number, str(error))
        return accepted
