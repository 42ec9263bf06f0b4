"""What can be done with a queue: put something into it, take from it, look at it, declare and delete it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import UNSET

from mesh.client.arguments import whole, yes_or_no
from mesh.client.consumer import Consumer
from mesh.client.core.calls import ReplyPart
from mesh.client.delivery import Delivery, QueuedMessage, milliseconds
from mesh.client.message import Batch, T
from mesh.client.publishing import Publishing
from mesh.client.putting import Putting
from mesh.client.reading import WHATEVER, ContentReader, reader_of
from mesh.errors import LocalError
from mesh.names import node_name
from mesh.queues.declared.definition import check_own, plain, terms_of
from mesh.queues.selecting.selector import Selector
from mesh.wire.calls import (
    MOVED,
    PEEKED,
    Ask,
    AskQueueDeclare,
    AskQueueInfo,
    AskQueueMove,
    AskQueuePeek,
    AskQueuePurge,
    AskQueueRemove,
)
from mesh.wire.limits import LARGEST_NUMBER, QUEUE_CREDIT
from mesh.wire.replies import MovedOn, Peeked, Purged, QueueRow, Removed, read_result

POLL = 0.1  # s for which `get` looks at least, once the node has heard of it
DEFAULTS = plain(terms_of({}))


class Queue(Putting):
    """A queue, by its name: what is put into it waits until somebody takes it, and says that it is done."""

    def __init__(self, client: Publishing, name: str) -> None:
        """BadName. Nothing is asked of the node yet."""
        super().__init__(client, name)

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    async def declare(  # noqa: PLR0913
        self,
        *,
        scope: Literal["mesh", "node"] = "mesh",
        distribution: Literal["local", "round_robin", "strict", "independent"] = "local",
        redistribution: float | None = 1.0,
        max_bytes: int = 1 << 30,
        max_count: int = 10_000_000,
        when_full: Literal["block", "reject"] = "block",
        max_attempts: int = 8,
        dead_letter: str = "",
        expiry: float | None = None,
        nodes: Sequence[str] = (),
        exclusive: bool = False,
        policy: str = "",
    ) -> QueueRow:
        """Have the queue there, with these terms; returns what is in it.

        `max_bytes`, `max_count`: so much may wait in it; then who puts waits while somebody takes
        (`when_full="block"`) or gets QueueFull ("reject"). What was given out `max_attempts` times in vain,
        or waited longer than `expiry` seconds, goes to `dead_letter`: a key, queue/NAME, or "" for the dead
        letters. `exclusive`: one consumer at a time at each node. The rest is of queues on several nodes.
        Declared again in the same way nothing changes; QueueExists says what differs. Raises BadArgument.
        """
        said = {
            "scope": scope,
            "distribution": distribution,
            "redistribution": redistribution,
            "max_bytes": max_bytes,
            "max_count": max_count,
            "when_full": when_full,
            "max_attempts": max_attempts,
            "dead_letter": dead_letter,
            "expiry": expiry,
            "nodes": nodes,
            "exclusive": exclusive,
            "policy": policy,
        }
        terms = terms_of(said)
        check_own(self._name, terms)
        # What is as usual goes without saying: a node of another release may not know all of it.
        special = {name: value for name, value in plain(terms).items() if value != DEFAULTS[name]}
        parts = await self._asked(AskQueueDeclare(name=self._name, terms=special))
        return read_result(QueueRow, parts[-1][0])

    async def info(self) -> QueueRow:
        """What is in it, at all nodes, and at each of them in `parts`: messages, bytes, s, and messages a
        second. `missing`: nodes that did not answer. `away`: those that are dead, or were stopped, with
        something in their queues; of these `parts` may have the last figures, which are in no sum, with
        their age (`as_of`, s). NoQueue."""
        parts = await self._asked(AskQueueInfo(name=self._name))
        return read_result(QueueRow, parts[-1][0])

    async def peek(self, n: int = 10) -> list[QueuedMessage[Any]]:
        """The next n messages of all nodes that answer, 100 at most, which stay where they are. NoQueue."""
        parts = await self._asked(AskQueuePeek(name=self._name, count=whole("n", n, 1, PEEKED)))
        return _looked_at(parts, reader_of(self._client._codec, None) or WHATEVER)

    async def purge(self) -> int:
        """Throw away what waits in it, at all nodes that answer; returns how many messages that were.
        NoQueue."""
        parts = await self._asked(AskQueuePurge(name=self._name))
        return read_result(Purged, parts[-1][0]).purged

    async def move(self, to: str, *, count: int | None = None) -> int:
        """Move the next `count` messages that are ready, None: all, from the client's node to the one that is
        called `to`, to wait there; returns how many that has taken. What it refuses stays where it is, and
        ends the move.

        What a node keeps in memory only it has when it is done: see docs/queues.md. UnknownNode, NoQueue,
        BadArgument; LocalError NOTHING_READY, NODE_AWAY.
        """
        left = whole("count", count, 1, LARGEST_NUMBER) if count is not None else LARGEST_NUMBER
        name, taken, is_first = node_name(to), 0, True
        while left:
            ask = AskQueueMove(name=self._name, to=name, count=min(left, MOVED))
            try:
                moved = read_result(MovedOn, (await self._asked(ask))[-1][0])
            except LocalError as error:
                if is_first:
                    raise
                if error.code != "NOTHING_READY":
                    what = f"{error.what} Before, {name} has taken {taken:,}."
                    raise LocalError(what, hint=error.hint, code=error.code) from None
                break
            taken, left, is_first = taken + moved.taken, left - moved.taken, False
            if not moved.rest:
                break
        return taken

    async def delete(self, *, if_unused: bool = True) -> None:
        """Delete the queue at all nodes. NoQueue.

        `if_unused`: only while it is empty and nobody takes from it, at any node: else QueueInUse, also while
        a node cannot be asked whose part is not known to be empty."""
        asked = AskQueueRemove(name=self._name, if_unused=yes_or_no("if_unused", if_unused))
        read_result(Removed, (await self._asked(asked))[-1][0])

    async def _asked(self, what: Ask) -> list[ReplyPart]:
        return await self._client._queue_asked(what)

    # --- taking -----------------------------------------------------------------------------------------

    def consume(
        self,
        *,
        selector: str | None = None,
        prefetch: int = 256,
        lease: float | None = None,
        type: type[T] | None = None,
    ) -> Consumer[T]:
        """Take from it: `async with q.consume() as jobs: async for job in jobs: async with job: ...`.

        Each message goes to one consumer, and is its own until it is acked, nacked or rejected. `selector`:
        only what it is True for, such as `region == "eu" and priority > 5` of headers, key and priority.
        `prefetch`: so many may be here at once, 1,000 at most; many are fast, few are shared evenly. `lease`:
        so many seconds after it was begun with, a message goes to others; None: when this consumer is gone.
        `type`: what `job.value` is, as for `subscribe`. Raises BadSelector, BadArgument; NoQueue when it is
        entered, and when the queue is deleted.
        """
        credit = whole("prefetch", prefetch, 1, QUEUE_CREDIT)
        return self._consumer(selector, credit, lease, reader_of(self._client._codec, type))

    def _consumer(
        self,
        selector: str | None,
        credit: int,
        lease: float | None,
        reader: ContentReader | None,
        once: bool = False,
    ) -> Consumer[Any]:
        client, core = self._client, self._client._core
        text = "" if selector is None else Selector(selector).text
        ms = 0 if lease is None else milliseconds("lease", lease)
        made = core.queues.make(core.subscriptions.next_number(), self._to, credit, text, ms)
        return Consumer(client, client._shell, made, reader, once)

    async def get(
        self, *, timeout: float | None = None, selector: str | None = None, type: type[T] | None = None
    ) -> Delivery[T] | None:
        """Take one message, which is to be settled; None when none came within `timeout` seconds.

        With 0 it looks for a moment; None: as long as the client's patience, or as it takes. The rest is as
        for `consume`, which is faster for more than a few.
        """
        client = self._client
        limit = client._limit(timeout)
        one = self._consumer(selector, 1, None, reader_of(client._codec, type), once=True)
        await one.__aenter__()
        taken: Delivery[T] | None = None
        try:
            if limit is None:
                taken = await anext(one, None)
            else:
                async with client._shell.timeout(max(limit, POLL)):
                    taken = await anext(one, None)
        except TimeoutError:
            taken = one._take()  # it came at the last moment
        finally:
            if taken is None:
                await one.close()
        return taken


class Queueing(Publishing):
    """The verb for queues."""

    def queue(self, name: str) -> Queue:
        """A queue: `declare`, `put`, `consume`, `get` and others of it. Nothing is asked yet. BadName."""
        return Queue(self, name)


def _looked_at(parts: list[ReplyPart], reader: ContentReader) -> list[QueuedMessage[Any]]:
    """The messages of a reply, and how often each was given to somebody."""
    found: list[QueuedMessage[Any]] = []
    for value, envelopes in parts:
        tries = iter(read_result(Peeked, value).tries)
        for m in (m for envelope in envelopes for m in Batch(envelope)):
            found.append(
                QueuedMessage(m._envelope, m._index, m.key, m.content, reader, UNSET, next(tries, 0))
            )
    return found
