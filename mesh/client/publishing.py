"""The calls of a client that publish messages and wait for their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from mesh.client.arguments import several
from mesh.client.codecs import Codec, codec_of
from mesh.client.content import (
    Content,
    Headings,
    Prepared,
    as_content,
    as_headers,
    as_xml,
    flags_of,
    own_properties,
)
from mesh.client.like import like
from mesh.client.oneloop import check_loop
from mesh.client.receipt import Receipt
from mesh.client.ruling import Ruling, check_everywhere
from mesh.errors import BadArgument, BadQuery, MeshTimeout, PublishRefused, WouldBlock, shown
from mesh.reserved import check_domain_free, ruled_node
from mesh.values import Published
from mesh.wire.limits import ENVELOPE_MESSAGES
from mesh.wire.properties import TEXT_ONLY

P = ParamSpec("P")
T = TypeVar("T")


class Publishing(Ruling):
    """The calls that publish."""

    async def publish(  # noqa: PLR0913
        self,
        key: str,
        content: Content,
        *,
        domain: str | None = None,
        xml: str | None = None,
        headers: Headings = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        local_only: bool = False,
        relay: bool = True,
        codec: Codec | str | None = None,
        timeout: float | None = None,
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
        message = self._prepared(
            key,
            content,
            domain=domain,
            xml=xml,
            headers=headers,
            persistent=persistent,
            expiry=expiry,
            priority=priority,
            local_only=local_only,
            relay=relay,
            codec=codec,
        )
        try:
            return await self._sending(timeout, self._published, message)
        except PublishRefused as error:
            node = ruled_node(key) if error.code == "RESERVED" else ""
            if not node:
                raise
        check_everywhere(domain, local_only, expiry)
        return await self._within(timeout, self._ruled, node, message[1])

    async def _published(self, sent: list[Receipt], message: Prepared, to: str = "") -> Published:
        sent.append(await self._post_when_room(message, to))
        return await sent[0]

    async def _sending(
        self,
        timeout: float | None,
        work: Callable[Concatenate[list[Receipt], P], Coroutine[Any, Any, T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `work` as `_within` does; a MeshTimeout names the messages posted so far."""
        sent: list[Receipt] = []
        try:
            return await self._within(timeout, work, sent, *args, **kwargs)
        except MeshTimeout as error:
            error.ids = tuple(receipt.id for receipt in sent)
            raise

    def _prepared(  # noqa: PLR0913
        self,
        key: str,
        content: Content,
        *,
        domain: str | None = None,
        xml: str | None = None,
        headers: Headings = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        local_only: bool = False,
        relay: bool = True,
        codec: Codec | str | None = None,
    ) -> Prepared:
        """Return a message in the form that the publisher takes, with its content copied; for any thread."""
        is_text = False
        if type(content) is not bytes or codec is not None:
            is_text = isinstance(content, str)
            content, headers = as_content(content, headers, self._codec if codec is None else codec_of(codec))
        if self._tracer is not None:
            headers = self._tracer.published(key, as_headers(headers))
        flags = 0
        if persistent is not False or local_only is not False or relay is not True:
            flags = flags_of(persistent, local_only, relay)
        props, expires = TEXT_ONLY if is_text else b"", 0
        if headers is not None or expiry is not None or priority != 5:
            props, expires = own_properties(headers, expiry, priority, self._shell.wall, is_text)
        inside = "" if xml is None else as_xml(xml)
        return key, content, "" if domain is None else domain, flags, props, expires, inside

    @like(_prepared)
    def post(self, key: str, content: Content, **options: Any) -> Receipt:
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
        publisher = self._publisher
        builder = publisher.builder
        if builder is not None and options == builder.options and type(content) is bytes:
            # `Builder.add` is inlined, because the calls took half of the time of a message.
            slices, size = builder.slices, len(content)
            count = len(slices)
            if count < ENVELOPE_MESSAGES and size < builder.room and size <= builder.most:
                row = builder.rows.get(key)
                builder.index.append(publisher.row(builder, key) if row is None else row)
                slices.append(content)
                builder.room -= size
                return Receipt(self, builder.domain, builder.first + count)
        receipt = self._post_prepared(self._prepared(key, content, **options))
        builder = publisher.builder
        # The caller may change the headers later, so options with headers are not compared.
        if builder is not None and not builder.props and options.get("headers") is None:
            builder.options = options
        return receipt

    def _post_prepared(self, message: Prepared, to: str = "") -> Receipt:
        """Post a message that the caller prepared, possibly in another thread."""
        key, content, domain, flags, props, expires, xml = message
        post = self._publisher.post
        number = self._posted(post, key, content, domain, flags, props, expires, to, xml)
        return Receipt(self, domain, number)

    def _post_to(self, to: str, message: Prepared, flags: int, until: float = 0.0, key: str = "") -> int:
        post = self._publisher.post_to
        return self._posted(post, to, key, message[1], flags, message[4], until)

    async def _posted_to(
        self, to: str, message: Prepared, flags: int, until: float = 0.0, key: str = ""
    ) -> int:
        while True:
            try:
                return self._post_to(to, message, flags, until, key)
            except WouldBlock:
                await self._room()

    def _posted(self, post: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the number that `post` assigns. Raises: WouldBlock.

        If the window is full, pending answers are read once before the second attempt.
        """
        self._now()
        try:
            number = post(*args, **kwargs)
        except WouldBlock:
            self._shell.read_arrived()
            number = post(*args, **kwargs)
        self._shell.hurry()
        return number

    def _check(self, message: Prepared) -> None:
        """Raise the error that `_post_prepared` would raise for the message; callable in any thread."""
        self._publisher.check(message[0], message[1])
        check_domain_free(message[2])

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

    async def _room(self) -> None:
        publisher = self._now().publisher
        while not publisher.outbox.open:
            await self._change()

    async def publish_many(  # noqa: PLR0913
        self,
        key: str,
        contents: Iterable[Content],
        *,
        domain: str | None = None,
        xml: str | None = None,
        headers: Headings = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        local_only: bool = False,
        relay: bool = True,
        codec: Codec | str | None = None,
        timeout: float | None = None,
    ) -> int:
        """Publish several contents under one key, in order, and wait until all are answered.

        The call also waits for earlier messages of this client. A list or tuple is fastest. Any other
        iterable is read one item at a time, as the window has room.

        Args:
            key: The topic's key.
            contents: The contents, each as for `publish`.
            timeout: Seconds for all messages together. The other arguments are as for `publish`.

        Returns:
            The number of messages.

        Raises:
            PublishRefused: The first refusal for which no receipt was awaited.
            BadKey, BadType, BadArgument, MessageTooLarge, Closed: As for `publish`. Earlier contents may
                have been published.
            MeshTimeout: Not all were answered in time.

        Example:
            await m.publish_many("log/app", [b"first", b"second"])
        """
        several(contents)
        options: dict[str, Any] = {
            "domain": domain,
            "xml": xml,
            "headers": headers,
            "persistent": persistent,
            "expiry": expiry,
            "priority": priority,
            "local_only": local_only,
            "relay": relay,
            "codec": codec,
        }
        return await self._within(timeout, self._publish_all, key, contents, options)

    async def _publish_all(self, key: str, contents: Iterable[Content], options: dict[str, Any]) -> int:
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

    async def _post_some(self, key: str, contents: Sequence[Content], options: dict[str, Any]) -> int:
        """Post `contents` as the window has room. If one is invalid, those before it have been posted."""
        plain = [content for content in contents if type(content) is bytes]
        if len(plain) < len(contents) or max(map(len, plain), default=0) > self._publisher.max_content:
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

    @like(publish)
    async def publish_oneway(
        self, key: str, content: Content, *, timeout: float | None = None, **options: Any
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

    async def _post_when_room(self, message: Prepared, to: str = "") -> Receipt:
        while True:
            try:
                return self._post_prepared(message, to)
            except WouldBlock:  # an earlier message may fill the window
                await self._room()

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
            BadArgument: The argument is none of these.
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
            raise BadQuery(
                f"{shown(name)} was not published by this session.",
                hint="Only the session that published a message receives its outcome.",
            )
        if isinstance(message, Published) and message.ok:
            return message
        return await self._within(timeout, self._word, domain, number, True)

    @property
    def _stream(self) -> bytes:
        return self._core.stream

    async def _result(self, receipt: Receipt) -> Published:
        check_loop(self._shell.loop)
        return await self._within(None, self._word, receipt.domain, receipt.number, False)

    async def _word(self, domain: str, number: int, last: bool) -> Published:
        verdicts = self._publisher.verdicts
        if (known := verdicts.answer_of(domain, number, last)) is not None:
            return known
        promise = verdicts.when_answered(domain, number, last)
        try:
            return await promise  # type: ignore[no-any-return]
        finally:
            verdicts.wait_no_more(domain, number, last, promise)

    def waiting(self) -> tuple[int, str]:
        """Return how many messages of this session wait for their master, and why the latest one waits."""
        return self._publisher.waiting()
