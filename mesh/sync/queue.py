"""Queues without an event loop.

Generated from mesh/features/queues/client/queue.py: change that, and type
`tools/generate_sync`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from mesh.client.message import T
from mesh.features.queues.client.delivery import QueuedMessage
from mesh.sync.connected import Connected
from mesh.sync.consumer import Consumer
from mesh.sync.delivery import Delivery
from mesh.sync.putting import Putting
from mesh.wire.replies import QueueRow


class Queue(Putting):
    """A queue by name, with the calls of `mesh.Queue`.

    Example:
        q = m.queue("jobs")
        q.declare(max_attempts=3)
        q.put(b"job 1")
    """

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._aio.name

    def declare(
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
            m.queue("jobs").declare(max_count=10_000, when_full="reject")
        """
        return self._run(
            None,
            lambda: self._aio.declare(
                scope=scope,
                distribution=distribution,
                redistribution=redistribution,
                max_bytes=max_bytes,
                max_count=max_count,
                when_full=when_full,
                max_attempts=max_attempts,
                dead_letter=dead_letter,
                expiry=expiry,
                nodes=nodes,
                exclusive=exclusive,
                policy=policy,
            ),
        )

    def info(self) -> QueueRow:
        """Return the state of the queue: messages, bytes, seconds, and messages per second.

        The sums are over all nodes that answered. `parts` has the asked node, and each node with messages or
        consumers. `missing` lists nodes that did not answer, `away` the unreachable nodes that had messages
        in any queue. The last known figures of unreachable nodes may be in `parts`, with their age in seconds
        (`as_of`); the sums do not include them.

        Raises:
            NoQueue: The queue does not exist.

        Example:
            print((q.info()).ready)
        """
        return self._run(None, lambda: self._aio.info())

    def peek(self, n: int = 10) -> list[QueuedMessage[Any]]:
        """Return up to `n` of the next messages, at all nodes that answer, without removing them.

        Args:
            n: 1 to 100; fewer are returned if they are long. Default: 10.

        Raises:
            NoQueue: The queue does not exist.
        """
        return self._run(None, lambda: self._aio.peek(n))

    def purge(self) -> int:
        """Delete the waiting messages at all nodes that answer.

        Returns:
            The number of deleted messages.

        Raises:
            NoQueue: The queue does not exist.
        """
        return self._run(None, lambda: self._aio.purge())

    def move(self, to: str, *, count: int | None = None) -> int:
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
            moved = q.move("stork", count=100)
        """
        return self._run(None, lambda: self._aio.move(to, count=count))

    def delete(self, *, if_unused: bool = True) -> None:
        """Delete the queue at all nodes.

        Args:
            if_unused: Whether to delete it only while it is empty and has no consumer at any node. Default:
                True.

        Raises:
            NoQueue: The queue does not exist.
            QueueInUse: The queue is in use, or an unreachable node may hold messages of it.
        """
        return self._run(None, lambda: self._aio.delete(if_unused=if_unused))

    def consume(
        self,
        *,
        selector: str | None = None,
        prefetch: int = 256,
        lease: float | None = None,
        type: type[T] | None = None,
        inbox: Any = None,
    ) -> Consumer[T]:
        """Consume messages: `with q.consume() as jobs: for job in jobs: with job: ...`.

        Each message goes to one consumer, which acks, nacks or rejects it.

        Args:
            selector: A condition on headers, key and priority, such as `region == "eu" and priority > 5`.
            prefetch: Unsettled messages that this consumer may have, 1 to 1,000. A higher limit is faster, a
                lower one shares messages more evenly. Default: 256.
            lease: Seconds that this consumer has to settle a message after beginning it; then another
                consumer receives the message. Default: until this consumer is lost.
            type: The type of `job.value`, as for `subscribe`.
            inbox: A connection of a database, a callable that opens one for each job, or a DatabaseInbox.
                `with job` commits the effects in `job.db` once, also if the job comes again.

        Returns:
            The consumer. Entering it registers it.

        Raises:
            BadSelector, BadType, BadArgument: An argument is invalid.
            NoQueue: On entering, or when the queue is deleted.

        Example:
            with q.consume(prefetch=10, lease=60) as jobs:
                for job in jobs:
                    with job:
                        print(job.value)
        """
        return Consumer(
            self._client,
            self._thread,
            self._aio.consume(selector=selector, prefetch=prefetch, lease=lease, type=type, inbox=inbox),
        )

    def get(
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
            job = q.get(timeout=1)
        """
        return super().get(timeout=timeout, selector=selector, type=type)


class Queueing(Connected):
    """The client's call that returns the handle of a queue."""

    def queue(self, name: str) -> Queue:
        """Return a handle of the queue, with `declare`, `put`, `consume` and more. Nothing is sent yet.

        Args:
            name: The name of the queue, which need not be declared yet.

        Raises:
            BadName: The name is invalid.

        Example:
            q = m.queue("jobs")
            q.put(b"job 7")
        """
        return Queue(self._client, self._thread, self._aio.queue(name))
