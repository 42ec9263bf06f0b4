"""The half of a queue that puts messages into it.

Generated from mesh/features/queues/client/putting.py: change that, and type
`tools/generate_sync`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from mesh.client.content import Content
from mesh.client.like import shows_options
from mesh.client.options import PutOptions
from mesh.features.queues.client import putting
from mesh.sync.posts import Receipt
from mesh.sync.queueing import ThreadQueue
from mesh.values import Published


class Putting(ThreadQueue):
    """The calls that put messages into a queue."""

    @shows_options(putting.Putting.put)
    def put(
        self, content: Content, *, timeout: float | None = None, **options: Unpack[PutOptions]
    ) -> Published:
        """Put a message into the queue, and wait until the queue has stored it, on disk if `persistent`.

        Args:
            content: The content, as for `publish`.
            key: A key for the message, which its consumer can read. Default: none.
            headers: Names and values, as for `publish`.
            priority: 0 to 9; the highest is delivered first. Default: 5.
            expiry: Seconds from now until the message expires. Default: never.
            delay: Seconds before the first delivery. Default: 0.
            group: The message group, whose messages go to one consumer, in order.
            persistent: Whether to store the message on disk. Default: True.
            codec: As for `publish`.
            timeout: Seconds to wait. Default: the client's patience.

        Returns:
            The answer, as for `publish`.

        Raises:
            NoQueue: The node has no queue of that name.
            QueueFull: The queue is full.
            BadArgument, MessageTooLarge, Closed, MeshTimeout: As for `publish`.

        Example:
            m.queue("jobs").put({"order": 7}, priority=9)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.put(content, timeout=left(), **options))

    @shows_options(putting.Putting.post)
    def post(self, content: Content, **options: Unpack[PutOptions]) -> Receipt:
        """Put a message without waiting for its answer.

        Await the receipt, or `flush()` of the client, to get the outcome.

        Args:
            content: As for `put`.
            options: The other arguments of `put`, without `timeout`.

        Returns:
            The receipt of the message.

        Raises:
            WouldBlock: The window of unanswered messages is full.
            NoQueue, QueueFull, BadArgument: As for `put`, here or from the receipt.

        Example:
            receipt = q.post(b"job 7")
        """
        return super().post(content, **options)

    @shows_options(putting.Putting.put_many)
    def put_many(
        self, contents: Iterable[Content], *, timeout: float | None = None, **options: Unpack[PutOptions]
    ) -> int:
        """Put several messages in order, and wait until the queue has stored them.

        A list or tuple of bytes is fastest. The first refusal ends the call.

        Args:
            contents: The contents of the messages.
            key: As for `put`. This and the following arguments apply to all messages.
            headers: As for `put`.
            priority: As for `put`.
            expiry: As for `put`.
            delay: As for `put`.
            group: As for `put`.
            persistent: As for `put`.
            codec: As for `put`.
            timeout: Seconds to wait for all messages together. Default: the client's patience.

        Raises:
            NoQueue, QueueFull, BadArgument, MeshTimeout: As for `put`. The text says how many were put.

        Returns:
            The number of messages.

        Example:
            q.put_many([b"job 1", b"job 2"])
        """
        return super().put_many(contents, timeout=timeout, **options)
