"""The subscribing half of a client: what arrived and waits to be used."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType

from mesh.client.message import Batch, Message
from mesh.client.oneloop import check_loop, running_loop
from mesh.errors import Closed, MeshError
from mesh.streams.seen import Seen
from mesh.wire.commands import Query
from mesh.wire.envelope import ERASED, INITIAL, Envelope

INBOX = 0  # the number of what was sent to the session itself


@dataclass(frozen=True, slots=True)
class Terms:
    """What gives way when the subscriber does not keep up; see `subscribe`."""

    overflow: str = ""
    max_queue: int = 0


class Subscription:
    """Messages of one query: `async for message in subscription`, or `.batches()`.

    A context manager: leaving it unsubscribes. It survives the loss of its node: it is made again on the
    next connection, and what it already had is not given twice. Nobody else sees its messages.
    """

    def __init__(
        self,
        number: int,
        query: Query,
        initial: bool,
        terms: Terms,
        enter: Callable[[Subscription], Awaitable[None]],
        leave: Callable[[Subscription], Awaitable[None]],
        used: Callable[[Subscription], None],
    ) -> None:
        self.number = number
        self.query = query
        self.initial = initial
        self.terms = terms
        self.confirmed = False
        self.used = 0  # items that were used up, for the node's credit
        self.dropped = 0  # messages that this subscriber was too slow for
        self._gap = 0  # of these, what no batch has told yet
        self._enter, self._leave, self._tell_used = enter, leave, used
        self._seen = Seen()
        self._was_restarted = False
        self._items: deque[Batch | None] = deque()  # None: an item of repeats, which only counts
        self._given: Batch | None = None  # the last one, until it is used up
        self._batch: Iterator[Message] | None = None  # what is left of it, when its messages are taken singly
        self.is_left = False  # an inbox that nobody reads at the moment
        self._arrived: asyncio.Event = asyncio.Event()
        self._error: MeshError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # the one where it was entered

    @property
    def id(self) -> str:
        """Names it within its session; never changes."""
        return str(self.number)

    @property
    def is_in_use(self) -> bool:
        """Was a batch given that is not counted yet?"""
        return self._given is not None

    async def __aenter__(self) -> Subscription:
        await self._enter(self)
        self._loop = running_loop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        rest = list(self._batch or ())
        await self.leave(rest, failed=kind is not None)

    async def unsubscribe(self) -> None:
        """Want no more of it."""
        await self.leave(list(self._batch or ()))

    async def leave(self, rest: Sequence[Message], failed: bool = False) -> None:
        """As `unsubscribe`. `rest`: messages of the last batch that nobody took.

        They are the first to be given again by an inbox; if its user `failed`, that whole batch is.
        """
        if self._error is not None:
            return
        given, self._batch = self._given, None
        if given is not None and (rest or failed):
            self._given = None
            self._items.appendleft(given if failed else given.of(rest))
        elif given is not None:
            self.count()
        await self._leave(self)

    def confirm(self) -> None:
        """The node has it: what came may be given."""
        self.confirmed = True
        self._arrived.set()

    def pause(self) -> None:
        """An inbox is left: whoever waits for it has its end, and what comes lies here."""
        self.is_left = True
        self._arrived.set()

    def resume(self) -> None:
        """It is opened again."""
        self.is_left = False

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Message:
        while True:
            if self._batch is not None:
                message = next(self._batch, None)
                if message is not None:
                    return message
                self._batch = None
                self.count()
            batch = await self.next_batch()
            if batch is None:
                raise StopAsyncIteration
            self._batch = iter(batch)

    async def batches(self) -> AsyncIterator[Batch]:
        """Messages in the batches in which they came."""
        while True:
            batch = await self.next_batch()
            if batch is None:
                return
            yield batch
            self.count()

    async def next_batch(self) -> Batch | None:
        """The next one, to be counted when it is used up; None when the subscription was ended on purpose."""
        while not self.is_left:
            # Not before it is confirmed: if the node is restarted before, what came is void, and comes again.
            while self.confirmed and self._items:
                batch = self._items.popleft()
                if batch is not None:
                    self._given = batch
                    return batch
                self.count()
            if self._error is not None:
                if isinstance(self._error, Closed):
                    return None
                raise self._error
            check_loop(self._loop)
            self._arrived.clear()
            await self._arrived.wait()
        return None

    def count(self) -> None:
        """A batch is used up: the node may send another."""
        self._given = None
        self.used += 1
        self._tell_used(self)

    def arrived(
        self, master: bytes, envelope: Envelope, indices: tuple[int, ...] | None, gap: int, position: int = 0
    ) -> None:
        """An item from the node."""
        indices, is_late = self._news(master, envelope, indices)
        if self._seen.has_passed(master, position, envelope.persistent) and self.number != INBOX:
            is_late = True  # in its order it would have come before
        if is_late:  # it was dropped for us, or lost with its master, and perhaps we were not told
            gap += envelope.count if indices is None else len(indices)
            indices = ()
        self.dropped += gap
        self._gap += gap
        self._items.append(self._batch_of(envelope, indices))
        self._arrived.set()

    def _batch_of(self, envelope: Envelope, indices: tuple[int, ...] | None) -> Batch | None:
        if indices == ():
            return None
        gap, self._gap = self._gap, 0
        return Batch(envelope, indices, gap)

    def _news(
        self, master: bytes, envelope: Envelope, indices: tuple[int, ...] | None
    ) -> tuple[tuple[int, ...] | None, bool]:
        """(what of it we have not had, whether that comes too late: behind newer ones of its master).

        Then the master was restarted, and what it lost comes again, or its publisher came by another way.
        A persistent message may be news all the same. A last value is the last no more, except to a new
        subscription, which gets those of many topics in any order. That a topic is gone is news too, and so
        is what was sent to us and nobody else.
        """
        stream = (envelope.stream, envelope.domain)
        is_behind = envelope.first <= self._seen.high(master, stream)
        is_behind = is_behind and not envelope.flags & ERASED and self.number != INBOX
        if is_behind and envelope.flags & INITIAL and self._was_restarted:
            return (), False
        fresh = self._seen.fresh(master, stream, envelope.first, envelope.last)
        if fresh != [(envelope.first, envelope.last)]:
            indices = _new_ones(envelope, indices, fresh)
        return indices, is_behind and not (envelope.persistent or envelope.flags & INITIAL)

    def restarted(self) -> None:
        """The node counts its items anew: so do we, and what still lies here was the old one's."""
        if not self.confirmed:
            # It may be made again later than it was: what came before it holds is none of ours.
            self._items.clear()
            self._seen = Seen()
        self._was_restarted = self.confirmed
        self.used = -len(self._items) - (self._given is not None)

    def end(self, error: MeshError) -> None:
        """Closed, or failed: what arrived can still be taken."""
        if self._error is None:
            self._error = error
            self._arrived.set()


def _new_ones(
    envelope: Envelope, indices: tuple[int, ...] | None, fresh: list[tuple[int, int]]
) -> tuple[int, ...]:
    every = range(envelope.count) if indices is None else indices
    numbers = envelope.number_list(every)
    return tuple(i for i, n in zip(every, numbers, strict=True) if any(a <= n <= b for a, b in fresh))
