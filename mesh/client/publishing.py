"""What can a client publish and send, and how does it learn what became of it?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, Unpack, overload

from mesh.client.arguments import several, yes_or_no
from mesh.client.codecs import Codec
from mesh.client.connected import Connected
from mesh.client.content import Content, Options, Prepared, as_content, check_destination, prepared
from mesh.client.oneloop import check_loop
from mesh.client.receipt import Receipt
from mesh.errors import BadArgument, BadQuery, PublishRefused, WouldBlock, shown
from mesh.reserved import check_free
from mesh.values import Headers, Published, check_domain
from mesh.wire.envelope import FORCE_QUEUING
from mesh.wire.limits import ENVELOPE_MESSAGES

P = ParamSpec("P")


class Publishing(Connected):
    """The verbs that publish."""

    async def publish(self, key: str, content: Content, **options: Unpack[Options]) -> Published:
        """Publish and wait for the answer. Concurrent calls share envelopes.

        `content`: bytes or text, which stay as they are, or a value that `codec` writes, with a header that
        says so. Raises PublishRefused (with `.code`), BadKey, BadType, BadArgument, MessageTooLarge, Closed.
        """
        return await (await self._post_when_room(key, content, options))

    def post(self, key: str, content: Content, **options: Unpack[Options]) -> Receipt:
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
        return self._post(key, content, options)

    def _post(self, key: str, content: Content, options: Options) -> Receipt:
        if type(content) is bytes:
            message = prepared(key, content, **options, wall=self._shell.wall)
        else:
            message = self.prepared(key, content, options)
        receipt = self.post_prepared(message)
        builder = self._publisher.builder
        # Headers can be changed by their owner: what was compared would be no copy.
        if builder is not None and not builder.props and options.get("headers") is None:
            builder.options = options
        return receipt

    def prepared(self, key: str, content: Content, options: Options) -> Prepared:
        """The message as `post_prepared` takes it; in any thread. BadType, BadArgument."""
        plain, options = as_content(content, options, self._codec)
        return prepared(key, plain, **options, wall=self._shell.wall)

    def post_prepared(self, message: Prepared, to: str = "") -> Receipt:
        """As `post`, for a caller that prepares its messages in another thread."""
        return Receipt(self, message[2], self._posted(self._publisher.post, *message, to))

    def _posted(self, post: Callable[P, int], *args: P.args, **kwargs: P.kwargs) -> int:
        """What `post` gives. WouldBlock when there is no room even after a look at what has come."""
        self._now()
        try:
            number = post(*args, **kwargs)
        except WouldBlock:
            self._shell.look()
            number = post(*args, **kwargs)
        self._shell.hurry()
        return number

    def check(self, message: Prepared) -> None:
        """Raise what `post_prepared` would say of the message itself; in any thread."""
        self._publisher.check(message[0], message[1])
        check_free(check_domain(message[2]))

    async def room(self) -> None:
        """Until the window of unanswered messages lets one be posted."""
        publisher = self._now().publisher
        while not publisher.outbox.open:
            await publisher.change()

    async def publish_many(self, key: str, contents: Iterable[Content], **options: Unpack[Options]) -> int:
        """Publish all of them under one key, and wait until all are answered; returns how many. In order.

        A list or tuple goes fastest. Of anything else each content is taken, and posted, when there is room.
        """
        several(contents)
        count = 0
        if isinstance(contents, list | tuple):
            for at in range(0, len(contents), ENVELOPE_MESSAGES):
                count += await self.post_some(key, contents[at : at + ENVELOPE_MESSAGES], options)
                await asyncio.sleep(0)  # others of this loop want their turn
        else:
            for content in contents:
                await self._post_when_room(key, content, options)
                count += 1
                if count % 4096 == 0:
                    await asyncio.sleep(0)
        await self.flush()
        return count

    async def post_some(self, key: str, contents: Sequence[Content], options: Options) -> int:
        """For publish_many: all of these, as there is room; when one cannot be, those before it are."""
        plain = [content for content in contents if type(content) is bytes]
        if len(plain) < len(contents) or max(map(len, plain), default=0) > self._publisher.max_content:
            for content in contents:
                await self._post_when_room(key, content, options)
            return len(contents)
        while plain:
            _, _, domain, flags, props, expires = prepared(key, b"", **options, wall=self._shell.wall)
            try:
                post_many = self._publisher.post_many
                del plain[: self._posted(post_many, key, plain, domain, flags, props, expires)]
            except WouldBlock:
                await self.room()
        return len(contents)

    async def publish_oneway(self, key: str, content: Content, **options: Unpack[Options]) -> None:
        """Publish without asking what becomes of it; waits only for room."""
        await self._post_when_room(key, content, options)

    async def _post_when_room(self, key: str, content: Content, options: Options) -> Receipt:
        if type(content) is not bytes:
            content, options = as_content(content, options, self._codec)  # once, however long it waits
        while True:
            try:
                return self._post(key, content, options)
            except WouldBlock:  # also when what was posted before, in another domain, took the last room
                await self.room()

    async def flush(self) -> None:
        """Until every message has its answer; raises the first refusal whose receipt nobody awaited."""
        await self._flushed()

    async def final(self, message: Published | Receipt) -> Published:
        """The last word on a message: after FORWARD_WARNING, what its master says of it, when it does.

        Raises PublishRefused when it was refused or expired meanwhile, BadQuery for a message that this
        session did not publish.
        """
        self._now()
        if not isinstance(message, Receipt | Published):
            what = f"{shown(message)} is neither a receipt nor an answer."
            raise BadArgument(what, hint="Give what post() or publish() returned.")
        if isinstance(message, Receipt):
            is_ours, domain, number = message._poster is self, message.domain, message.number
        else:
            is_ours, domain, number = self._publisher.is_ours(message.id)
        if not is_ours:
            raise BadQuery(
                f"{message.id} was not published by this session.",
                hint="Only the session that published a message hears what becomes of it.",
            )
        if isinstance(message, Published) and message.ok:
            return message
        return await self._word(domain, number, last=True)

    @property
    def _stream(self) -> bytes:
        """The name of what this session publishes, in message ids."""
        return self._core.stream

    async def _result(self, receipt: Receipt) -> Published:
        """The answer to one message, when it comes. WrongLoop."""
        check_loop(self._shell.loop)
        return await self._word(receipt.domain, receipt.number, last=False)

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

    # --- to a named session -----------------------------------------------------------------------------

    @overload
    async def send(
        self,
        destination: str,
        content: Content,
        *,
        force_queuing: bool = False,
        domain: str | None = None,
        key: str = "",
        headers: Headers | Mapping[str, str] | None = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        codec: Codec | str | None = None,
    ) -> Published: ...
    @overload
    async def send(
        self,
        destination: list[str] | tuple[str, ...],
        content: Content,
        *,
        force_queuing: bool = False,
        domain: str | None = None,
        key: str = "",
        headers: Headers | Mapping[str, str] | None = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        codec: Codec | str | None = None,
    ) -> list[Published | PublishRefused]: ...
    async def send(
        self,
        destination: str | list[str] | tuple[str, ...],
        content: Content,
        *,
        force_queuing: bool = False,
        domain: str | None = None,
        key: str = "",
        headers: Headers | Mapping[str, str] | None = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        codec: Codec | str | None = None,
    ) -> Published | list[Published | PublishRefused]:
        """Send to one session (`/node/heron/client/joe/session/1`), or to every session of a client.

        Without a node in front (`client/joe`) the domain says where. `force_queuing`: if nobody is there
        it waits for somebody; else that raises NotConnected or UnknownNode. `matched` counts the sessions
        that have it; 0: it waits. Several destinations: one result each, in order, refusals too.
        Raises BadName, and what `publish` raises.
        """
        self._now()
        is_one = not isinstance(destination, list | tuple)
        names: Any = [destination] if is_one else destination
        for to in names:
            check_destination(to)
        options = Options(
            domain=domain,
            headers=headers,
            persistent=persistent,
            expiry=expiry,
            priority=priority,
            codec=codec,
        )
        message = self.prepared(key, content, options)
        if yes_or_no("force_queuing", force_queuing):
            key, body, in_domain, flags, props, expires = message
            message = key, body, in_domain, flags | FORCE_QUEUING, props, expires
        receipts = [await self._send_when_room(to, message) for to in names]
        if is_one:
            return await receipts[0]
        return [await _or_refusal(receipt) for receipt in receipts]

    async def _send_when_room(self, to: str, message: Prepared) -> Receipt:
        while True:
            try:
                return self.post_prepared(message, to)
            except WouldBlock:
                await self.room()


async def _or_refusal(receipt: Receipt) -> Published | PublishRefused:
    try:
        return await receipt
    except PublishRefused as error:
        return error
