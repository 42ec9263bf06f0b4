"""The calls of a client that publish messages and wait for their answers.

Generated from mesh/client/publishing.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from mesh.client import publishing
from mesh.client.content import Content
from mesh.client.like import shows_options
from mesh.client.options import PublishOptions
from mesh.sync.connected import Connected
from mesh.sync.posts import Receipt
from mesh.values import Published


class Publishing(Connected):
    """The client's calls that publish messages and wait for their answers."""

    @shows_options(publishing.Publishing.publish)
    def publish(
        self, key: str, content: Content, *, timeout: float | None = None, **options: Unpack[PublishOptions]
    ) -> Published:
        """Publish a message and wait for its answer.

        The answer comes from the message's master, or from a node where the message waits for the master.
        Concurrent calls share envelopes.

        Args:
            key: The topic's key. With `__sys__cluster.node.master[NAME]` the mesh's admin publishes the
                routing rules of a node, as a `<clusternode>` text.
            content: Bytes, a str (sent as UTF-8), or a value that `codec` encodes; `content-type` names the
                codec.
            domain: The topic's domain. Default: none.
            xml: The XML description of the key, for XPath queries.
            headers: Names and values, as a dict or pairs.
            persistent: Whether to confirm only after the message is on disk.
            expiry: Seconds from now until the message expires. Default: never.
            priority: 0 (lowest) to 9. Default: 5.
            local_only: Whether to keep the message on this client's node.
            relay: Whether gateways may relay the message to other sites.
            codec: As for `connect`, for this message.
            timeout: Seconds to wait. Default: the client's patience.

        Returns:
            The answer, with the `id` of the message, the `state` and the number of subscriptions that
                `matched`.

        Raises:
            PublishRefused: The node or the master refused the message; `code` says why.
            BadKey, BadType, BadArgument, MessageTooLarge, Closed: The message was not sent.
            MeshTimeout: No answer in time. The message may still be accepted; `final` returns the outcome.

        Example:
            m.publish("sensors/kitchen/temp", 21.5, expiry=60)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.publish(key, content, timeout=left(), **options))

    @shows_options(publishing.Publishing.post)
    def post(self, key: str, content: Content, **options: Unpack[PublishOptions]) -> Receipt:
        """Append a message to the outgoing envelope without waiting for its answer.

        Await the receipt, or `flush()`, to get the outcome.

        Args:
            key: As for `publish`.
            content: As for `publish`.
            options: The other arguments of `publish`, without `timeout`.

        Returns:
            The receipt of the message.

        Raises:
            WouldBlock: The window of unanswered messages is full; `room()`.
            BadKey, BadType, BadArgument, MessageTooLarge, Closed: As for `publish`.

        Example:
            receipt = m.post("sensors/kitchen/temp", b"21.5")
            published = receipt
        """
        return super().post(key, content, **options)

    def room(self, *, timeout: float | None = None) -> None:
        """Wait until the window of unanswered messages has room for another.

        Args:
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            MeshTimeout: The window stayed full for `timeout` seconds.

        Example:
            m.room()
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.room(timeout=left()))

    @shows_options(publishing.Publishing.publish_many)
    def publish_many(
        self,
        key: str,
        contents: Iterable[Content],
        *,
        timeout: float | None = None,
        **options: Unpack[PublishOptions],
    ) -> int:
        """Publish several contents under one key, in order, and wait until all are answered.

        The call also waits for earlier messages of this client. A list or tuple is fastest. Any other
        iterable is read one item at a time, whenever the window has room.

        Args:
            key: The topic's key.
            contents: The contents, each as for `publish`.
            timeout: Seconds for all messages together. The other arguments are as for `publish`.

        Returns:
            The number of messages.

        Raises:
            PublishRefused: The first refusal for which no receipt was awaited.
            BadKey, BadType, BadArgument, MessageTooLarge, Closed: As for `publish`. Earlier contents may have
                been published.
            MeshTimeout: Not all were answered in time.

        Example:
            m.publish_many("log/app", [b"first", b"second"])
        """
        return super().publish_many(key, contents, timeout=timeout, **options)

    @shows_options(publishing.Publishing.publish_oneway)
    def publish_oneway(
        self, key: str, content: Content, *, timeout: float | None = None, **options: Unpack[PublishOptions]
    ) -> None:
        """Publish a message without waiting for its answer; wait only for room in the window.

        A later refusal is raised by `flush`.

        Args:
            key: As for `publish`.
            content: As for `publish`.
            timeout: Seconds to wait for room. Default: the client's patience.
            options: The other arguments of `publish`.

        Raises:
            BadKey, BadType, BadArgument, MessageTooLarge, Closed: As for `publish`.
            MeshTimeout: The window stayed full for `timeout` seconds.

        Example:
            m.publish_oneway("sensors/kitchen/temp", 21.5)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.publish_oneway(key, content, timeout=left(), **options))

    def flush(self, *, timeout: float | None = None) -> None:
        """Wait until every posted message is answered.

        Args:
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            PublishRefused: The first refusal for which no receipt was awaited.
            MeshTimeout: Not all were answered within `timeout` seconds. They may still be accepted.

        Example:
            m.flush(timeout=10)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.flush(timeout=left()))

    def final(self, message: Published | Receipt | str, *, timeout: float | None = None) -> Published:
        """Wait for the final answer to a message, such as one whose first answer was FORWARD_WARNING.

        Args:
            message: The result of `publish` or `post`, or a message id, such as one of a MeshTimeout's `ids`.
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            PublishRefused: The message was refused, or expired.
            BadQuery: This session did not publish the message, or no longer knows the outcome.
            BadArgument: `message` is of another type.
            MeshTimeout: No final answer in time.

        Example:
            published = m.publish("orders", b"7")
            if not published.ok:
                published = m.final(published)
        """
        return super().final(message, timeout=timeout)

    def waiting(self) -> tuple[int, str]:
        """Return how many messages of this session wait for their master, and why the latest one had to wait.

        The reason is "" if none waits.
        """
        return self._aio.waiting()
