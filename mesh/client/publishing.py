"""What can a client publish and send, and how does it learn what became of it?"""

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
    """The verbs that publish."""

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
        """Publish and wait for the answer, at most `timeout` seconds. Concurrent calls share envelopes.

        `content`: bytes, a str as UTF-8, or a value, which `codec` writes and `content-type` names.
        `expiry` in seconds from now, `priority` from 0 (lowest) to 9; `persistent`: answered when it is on
        disk; `local_only`: no other node gets it; `relay=False`: no other site does. Raises PublishRefused
        (with `.code`), BadKey, BadType, BadArgument, MessageTooLarge, Closed; MeshTimeout, after which the
        message may still arrive: `final` knows. Under `__sys__cluster.node.master[NAME]` the admin of the
        mesh publishes the rules of a node, as a `<clusternode>` text.
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
        """As `_within`; a MeshTimeout names what was posted until then."""
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
        """A message as the publisher takes it, its content copied; in any thread."""
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
        """Append a message and go on. Await the receipt, or `flush()`, to learn what became of it.

        Raises WouldBlock when the window of unanswered messages is full, and what `publish` raises.
        """
        publisher = self._publisher
        builder = publisher.builder
        if builder is not None and options == builder.options and type(content) is bytes:
            # What `Builder.add` would do: to call it, and who calls it, took half of a message's time.
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
        # Headers can be changed by their owner: what was compared would be no copy.
        if builder is not None and not builder.props and options.get("headers") is None:
            builder.options = options
        return receipt

    def _post_prepared(self, message: Prepared, to: str = "") -> Receipt:
        """As `post`, for a caller that prepares its messages in another thread."""
        key, content, domain, flags, props, expires, xml = message
        post = self._publisher.post
        number = self._posted(post, key, content, domain, flags, props, expires, to, xml)
        return Receipt(self, domain, number)

    def _post_to(self, to: str, message: Prepared, flags: int, until: float = 0.0, key: str = "") -> int:
        """The number of a message to an address. WouldBlock as `_posted`."""
        post = self._publisher.post_to
        return self._posted(post, to, key, message[1], flags, message[4], until)

    async def _posted_to(
        self, to: str, message: Prepared, flags: int, until: float = 0.0, key: str = ""
    ) -> int:
        """The same, when there is room."""
        while True:
            try:
                return self._post_to(to, message, flags, until, key)
            except WouldBlock:
                await self._room()

    def _posted(self, post: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The number that `post` gives. WouldBlock if there is no room even after a look at what has come."""
        self._now()
        try:
            number = post(*args, **kwargs)
        except WouldBlock:
            self._shell.look()
            number = post(*args, **kwargs)
        self._shell.hurry()
        return number

    def _check(self, message: Prepared) -> None:
        """Raise what `_post_prepared` would say of the message itself; in any thread."""
        self._publisher.check(message[0], message[1])
        check_domain_free(message[2])

    async def room(self, *, timeout: float | None = None) -> None:
        """Until the window of unanswered messages lets one be posted; MeshTimeout after `timeout` seconds."""
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
        """Publish all of them under one key, and wait until all are answered; returns how many. In order.

        A list or tuple goes fastest. Of anything else each content is taken, and posted, when there is room.
        The rest is as for `publish`; `timeout` is for all of them together.
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
                await asyncio.sleep(0)  # others of this loop want their turn
        else:
            for content in contents:
                await self._post_when_room(self._prepared(key, content, **options))
                count += 1
                if count % 4096 == 0:
                    await asyncio.sleep(0)
        await self._flushed()
        return count

    async def _post_some(self, key: str, contents: Sequence[Content], options: dict[str, Any]) -> int:
        """For publish_many: all of these, as there is room; when one cannot be, those before it are."""
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
        """Publish without asking what becomes of it; waits only for room. Else as `publish`."""
        await self._within(timeout, self._post_when_room, self._prepared(key, content, **options))

    async def _post_when_room(self, message: Prepared, to: str = "") -> Receipt:
        while True:
            try:
                return self._post_prepared(message, to)
            except WouldBlock:  # also when what was posted before, in another domain, took the last room
                await self._room()

    async def flush(self, *, timeout: float | None = None) -> None:
        """Until every message has its answer, at most `timeout` seconds (MeshTimeout: they may still arrive).

        Raises the first refusal whose receipt nobody awaited.
        """
        await self._within(timeout, self._flushed)

    async def final(self, message: Published | Receipt | str, *, timeout: float | None = None) -> Published:
        """The last word on a message: after FORWARD_WARNING, what its master says of it, when it does.

        `message`: what `publish` or `post` gave, or its id, such as one of `ids` of a MeshTimeout. Waits at
        most `timeout` seconds. Raises PublishRefused when it was refused or expired meanwhile, BadQuery for
        a message that this session did not publish.
        """
        self._now()
        if not isinstance(message, Receipt | Published | str):
            what = f"{shown(message)} is neither a receipt nor an answer, nor an id."
            raise BadArgument(what, hint="Give what post() or publish() returned.")
        name = message if isinstance(message, str) else message.id
        is_ours, domain, number = self._publisher.is_ours(name)
        if not is_ours:
            raise BadQuery(
                f"{shown(name)} was not published by this session.",
                hint="Only the session that published a message hears what becomes of it.",
            )
        if isinstance(message, Published) and message.ok:
            return message
        return await self._within(timeout, self._word, domain, number, True)

    @property
    def _stream(self) -> bytes:
        """The name of what this session publishes, in message ids."""
        return self._core.stream

    async def _result(self, receipt: Receipt) -> Published:
        """The answer to one message, when it comes. WrongLoop."""
        check_loop(self._shell.loop)
        return await self._within(None, self._word, receipt.domain, receipt.number, False)

    async def _word(self, domain: str, number: int, last: bool) -> Published:
        verdicts = self._publisher.verdicts
        if (known := verdicts.known(domain, number, last)) is not None:
            return known
        promise = verdicts.wait(domain, number, last)
        try:
            return await promise  # type: ignore[no-any-return]
        finally:
            verdicts.wait_no_more(domain, number, last, promise)

    def waiting(self) -> tuple[int, str]:
        """(messages of this session that wait for their master, what the last of them waits for)."""
        return self._publisher.waiting()
