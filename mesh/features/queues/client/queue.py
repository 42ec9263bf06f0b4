"""Queues: putting, consuming, inspecting, declaring and deleting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from mesh.client.arguments import whole, yes_or_no
from mesh.client.core.calls import ReplyPart
from mesh.client.job_database import JobDatabase
from mesh.client.message import T
from mesh.client.posting import Posting
from mesh.client.reading import WHATEVER, ContentReader, reader_of
from mesh.features.queues.client.consumer import Consumer
from mesh.features.queues.client.delivery import Delivery, QueuedMessage, milliseconds
from mesh.features.queues.client.putting import Putting
from mesh.features.queues.client.queue_calls import declare_request, move_ready, peeked_messages
from mesh.features.queues.model.selecting.selector import Selector
from mesh.wire.calls import PEEKED, Ask, AskQueueInfo, AskQueuePeek, AskQueuePurge, AskQueueRemove
from mesh.wire.limits import QUEUE_CREDIT
from mesh.wire.replies import Purged, QueueRow, Removed, read_result

POLL = 0.1  # s, the shortest wait of `get`


class Queue(Putting):
    """A queue by name. Messages in it wait until a consumer has settled them.

    Example:
        q = m.queue("jobs")
        await q.declare(max_attempts=3)
        await q.put(b"job 1")
    """

    def __init__(self, client: Posting, name: str) -> None:
        """Create a handle; the node is not contacted yet. Raises: BadName."""
        super().__init__(client, name)

    @property
    def name(self) -> str:
        """The name of the queue."""
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
        """Create the queue with these terms. If it exists with the same terms, nothing changes.

        Args:
            scope: "mesh", or "node" for a queue at this client's node only.
            distribution: How messages are assigned to the nodes of the queue; see docs/queues.md.
            redistribution: Seconds that a message waits without a consumer before it moves to another node;
                None: never. Default: 1.
            max_bytes: Limit of bytes in the queue at each node. Default: 1 GiB.
            max_count: Limit of messages in the queue at each node. Default: 10,000,000.
            when_full: "block" producers while a consumer is connected, or "reject" with QueueFull.
            max_attempts: Failed deliveries after which a message is dead-lettered. Default: 8.
            dead_letter: A key or queue/NAME for dead letters. Default: the topic of dead letters.
            expiry: Seconds after which a waiting message is dead-lettered. Default: never.
            nodes: The nodes at which messages stay. Default: any.
            exclusive: Whether each node serves one consumer at a time.
            policy: The plug-in that decides which messages move between nodes. Default: the built-in rules.

        Returns:
            The state of the queue.

        Raises:
            QueueExists: The queue exists with other terms; the error says which differ.
            BadArgument: A term is invalid.

        Example:
            await m.queue("jobs").declare(max_count=10_000, when_full="reject")
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
        parts = await self._asked(declare_request(self._name, said))
        return read_result(QueueRow, parts[-1][0])

    async def info(self) -> QueueRow:
        """Return the state of the queue: messages, bytes, seconds, and messages per second.

        The sums are over all nodes that answered. `parts` has the asked node, and each node with messages or
        consumers. `missing` lists nodes that did not answer, `away` the unreachable nodes that had messages
        in any queue. The last known figures of unreachable nodes may be in `parts`, with their age in seconds
        (`as_of`); the sums do not include them.

        Raises:
            NoQueue: The queue does not exist.

        Example:
            print((await q.info()).ready)
        """
        parts = await self._asked(AskQueueInfo(name=self._name))
        return read_result(QueueRow, parts[-1][0])

    async def peek(self, n: int = 10) -> list[QueuedMessage[Any]]:
        """Return up to `n` of the next messages, at all nodes that answer, without removing them.

        Args:
            n: 1 to 100; fewer are returned if they are long. Default: 10.

        Raises:
            NoQueue: The queue does not exist.
        """
        parts = await self._asked(AskQueuePeek(name=self._name, count=whole("n", n, 1, PEEKED)))
        return peeked_messages(parts, reader_of(self._client._codec, None) or WHATEVER)

    async def purge(self) -> int:
        """Delete the waiting messages at all nodes that answer.

        Returns:
            The number of deleted messages.

        Raises:
            NoQueue: The queue does not exist.
        """
        parts = await self._asked(AskQueuePurge(name=self._name))
        return read_result(Purged, parts[-1][0]).purged

    async def move(self, to: str, *, count: int | None = None) -> int:
        """Move ready messages from the client's node to another node of the queue.

        A message that the other node refuses stays where it is, and ends the move. A message that is not
        persistent is in the memory of the other node afterwards; see docs/queues.md.

        Args:
            to: The name of the other node.
            count: The number of messages. Default: all that are ready.

        Returns:
            The number of messages that the other node accepted.

        Raises:
            UnknownNode, NoQueue, BadArgument: The node, queue or number is wrong.
            LocalError: With the code NOTHING_READY or NODE_AWAY.

        Example:
            moved = await q.move("stork", count=100)
        """
        return await move_ready(self._asked, self._name, to, count)

    async def delete(self, *, if_unused: bool = True) -> None:
        """Delete the queue at all nodes.

        Args:
            if_unused: Whether to delete it only while it is empty and has no consumer at any node. Default:
                True.

        Raises:
            NoQueue: The queue does not exist.
            QueueInUse: The queue is in use, or an unreachable node may hold messages of it.
        """
        asked = AskQueueRemove(name=self._name, if_unused=yes_or_no("if_unused", if_unused))
        read_result(Removed, (await self._asked(asked))[-1][0])

    async def _asked(self, what: Ask) -> list[ReplyPart]:
        return await self._client._queue_asked(what)

    # --- consuming --------------------------------------------------------------------------------------

    def consume(
        self,
        *,
        selector: str | None = None,
        prefetch: int = 256,
        lease: float | None = None,
        type: type[T] | None = None,
        inbox: Any = None,
    ) -> Consumer[T]:
        """Consume messages: `async with q.consume() as jobs: async for job in jobs: async with job: ...`.

        Each message goes to one consumer, which acks, nacks or rejects it.

        Args:
            selector: A condition on headers, key and priority, such as `region == "eu" and priority > 5`.
            prefetch: Unsettled messages that this consumer may have, 1 to 1,000. A higher limit is faster, a
                lower one shares messages more evenly. Default: 256.
            lease: Seconds that this consumer has to settle a message after beginning it; then another
                consumer receives the message. Default: until this consumer is lost.
            type: The type of `job.value`, as for `subscribe`.
            inbox: A connection of a database, a callable that opens one for each job, or a DatabaseInbox.
                `async with job` commits the effects in `job.db` once, also if the job comes again.

        Returns:
            The consumer. Entering it registers it.

        Raises:
            BadSelector, BadType, BadArgument: An argument is invalid.
            NoQueue: On entering, or when the queue is deleted.

        Example:
            async with q.consume(prefetch=10, lease=60) as jobs:
                async for job in jobs:
                    async with job:
                        print(job.value)
        """
        credit = whole("prefetch", prefetch, 1, QUEUE_CREDIT)
        database = None if inbox is None else cast("Any", self._client)._job_database(self._name, inbox)
        return self._consumer(
            selector, credit, lease, reader_of(self._client._codec, type), database=database
        )

    def _consumer(
        self,
        selector: str | None,
        credit: int,
        lease: float | None,
        reader: ContentReader | None,
        once: bool = False,
        database: JobDatabase | None = None,
    ) -> Consumer[Any]:
        client, core = self._client, self._client._core
        text = "" if selector is None else Selector(selector).text
        ms = 0 if lease is None else milliseconds("lease", lease)
        made = core.queues.new_consumer(core.subscriptions.next_number(), self._to, credit, text, ms)
        return Consumer(client, client._shell, made, reader, once, database)

    async def get(
        self, *, timeout: float | None = None, selector: str | None = None, type: type[T] | None = None
    ) -> Delivery[T] | None:
        """Take one message from the queue. For many messages, `consume` is faster.

        Args:
            timeout: Seconds to wait; less than 0.1 counts as 0.1. Default: the client's patience, else no
                limit.
            selector: As for `consume`.
            type: As for `consume`.

        Returns:
            The delivery, which must be settled; None if no message arrived in time.

        Raises:
            NoQueue: The queue does not exist.

        Example:
            job = await q.get(timeout=1)
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
            taken = one._take_delivery()  # it came just before the timeout
        finally:
            if taken is None:
                await one.close()
        return taken


class Queueing(Posting):
    """The client's call that returns the handle of a queue."""

    def queue(self, name: str) -> Queue:
        """Return a handle of the queue, with `declare`, `put`, `consume` and more. Nothing is sent yet.

        Args:
            name: The name of the queue, which need not be declared yet.

        Raises:
            BadName: The name is invalid.

        Example:
            q = m.queue("jobs")
            await q.put(b"job 7")
        """
        return Queue(self, name)
