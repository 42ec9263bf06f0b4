"""The calls of a client that publish messages and wait for their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Unpack

from mesh.client.arguments import several
from mesh.client.content import Content
from mesh.client.like import shows_options
from mesh.client.options import PublishOptions, check_options
from mesh.client.posting import Posting
from mesh.client.receipt import Receipt
from mesh.client.ruling import check_everywhere, put_setting
from mesh.errors import BadArgument, BadQuery, PublishRefused, WouldBlock
from mesh.reserved import node_at, ruled_node
from mesh.shortening import shown
from mesh.values import Published
from mesh.wire.limits import ENVELOPE_MESSAGES


class Publishing(Posting):
    """The client's calls that publish messages and wait for their answers."""

    @shows_options(Posting._prepared)
    async def publish(
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
            await m.publish("sensors/kitchen/temp", 21.5, expiry=60)
        """
        message = self._prepared(key, content, **options)
        try:
            return await self._sending(timeout, self._published, message)
        except PublishRefused as error:
            if error.code != "RESERVED" or not (ruled_node(key) or node_at(key)):
                raise
        check_everywhere(options.get("domain"), options.get("local_only", False), options.get("expiry"))
        return await self._within(timeout, put_setting, self, key, message[1])

    @shows_options(Posting._prepared)
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
            WouldBlock: The window of unanswered messages is full; await `room()`.
            BadKey, BadType, BadArgument, MessageTooLarge, Closed: As for `publish`.

        Example:
            receipt = m.post("sensors/kitchen/temp", b"21.5")
            published = await receipt
        """
        builder = self._accumulator.builder
        if builder is not None and options == builder.options and type(content) is bytes:
            # `Builder.add` is inlined, because the calls took half of the time of a message.
            slices, size = builder.slices, len(content)
            count = len(slices)
            if count < ENVELOPE_MESSAGES and size < builder.room and size <= builder.most:
                row = builder.rows.get(key)
                builder.index.append(self._publisher.add_key(builder, key) if row is None else row)
                slices.append(content)
                builder.room -= size
                return Receipt(self, builder.domain, builder.first + count)
        receipt = self._post_prepared(self._prepared(key, content, **options))
        builder = self._accumulator.builder
        # The caller may change the headers later, so options with headers are not compared.
        if builder is not None and not builder.props and options.get("headers") is None:
            builder.options = options
        return receipt

    async def room(self, *, timeout: float | None = None) -> None:
        """Wait until the window of unanswered messages has room for another.

        Args:
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            MeshTimeout: The window stayed full for `timeout` seconds.

        Example:
            await m.room()
        """
        await self._within(timeout, self._room)

    @shows_options(Posting._prepared)
    async def publish_many(
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
            await m.publish_many("log/app", [b"first", b"second"])
        """
        several(contents)
        check_options(options, PublishOptions)
        return await self._within(timeout, self._publish_all, key, contents, options)

    async def _publish_all(self, key: str, contents: Iterable[Content], options: PublishOptions) -> int:
        count = 0
        if isinstance(contents, list | tuple):
            for at in range(0, len(contents), ENVELOPE_MESSAGES):
                count += await self._post_some(key, contents[at : at + ENVELOPE_MESSAGES], options)
                await asyncio.sleep(0)  # let other tasks run
        else:
            for content in contents:
                await self._post_when_room(self._prepared(key, content, **options))
                count += 1
                if count % 4096 == 0:
                    await asyncio.sleep(0)
        await self._flushed()
        return count

    async def _post_some(self, key: str, contents: Sequence[Content], options: PublishOptions) -> int:
        """Post `contents`, waiting while the window is full.

        The contents before an invalid one are posted.
        """
        plain = [content for content in contents if type(content) is bytes]
        if len(plain) < len(contents) or max(map(len, plain), default=0) > self._accumulator.max_content:
            for content in contents:
                await self._post_when_room(self._prepared(key, content, **options))
            return len(contents)
        while plain:
            _, _, domain, flags, props, expires, xml = self._prepared(key, b"", **options)
            try:
                post_many = self._publisher.post_many
                del plain[: self._posted(post_many, key, plain, domain, flags, props, expires, xml)]
            except WouldBlock:
                await self._room()
        return len(contents)

    @shows_options(Posting._prepared)
    async def publish_oneway(
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
            await m.publish_oneway("sensors/kitchen/temp", 21.5)
        """
        await self._within(timeout, self._post_when_room, self._prepared(key, content, **options))

    async def flush(self, *, timeout: float | None = None) -> None:
        """Wait until every posted message is answered.

        Args:
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            PublishRefused: The first refusal for which no receipt was awaited.
            MeshTimeout: Not all were answered within `timeout` seconds. They may still be accepted.

        Example:
            await m.flush(timeout=10)
        """
        await self._within(timeout, self._flushed)

    async def final(self, message: Published | Receipt | str, *, timeout: float | None = None) -> Published:
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
            published = await m.publish("orders", b"7")
            if not published.ok:
                published = await m.final(published)
        """
        self._now()
        if not isinstance(message, Receipt | Published | str):
            what = f"{shown(message)} is neither a receipt, an answer nor an id."
            raise BadArgument(what, hint="Pass what post() or publish() returned.")
        name = message if isinstance(message, str) else message.id
        is_ours, domain, number = self._publisher.is_ours(name)
        if not is_ours:
            if number == 0:
                what = f"{shown(name)} is not the id of a published message."
                raise BadQuery(
                    what, hint="Pass what post() or publish() returned. A change of rules has no id."
                )
            raise BadQuery(
                f"{name[:80]!r} was not published by this session.",
                hint="Only the session that published a message receives its outcome.",
            )
        if isinstance(message, Published) and message.ok:
            return message
        return await self._within(timeout, self._word, domain, number, True)

    def waiting(self) -> tuple[int, str]:
        """Return how many messages of this session wait for their master, and why the latest one had to wait.

        The reason is "" if none waits.
        """
        return self._publisher.waiting_count()
