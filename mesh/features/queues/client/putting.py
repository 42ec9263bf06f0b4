"""The producing half of a queue: the calls that put messages into it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from typing import Never, Unpack

from mesh.client.arguments import several, whole
from mesh.client.codecs import Codec
from mesh.client.content import Content, Headings, Prepared
from mesh.client.core.accumulator import TOGETHER, PutTerms
from mesh.client.like import shows_options
from mesh.client.options import PutOptions, unknown_option
from mesh.client.posting import Posting
from mesh.client.receipt import Receipt
from mesh.errors import BadArgument, MeshError, WouldBlock
from mesh.features.queues.client.delivery import milliseconds
from mesh.names import PUTS, check_taken
from mesh.values import Published, check_key, check_text, messages
from mesh.wire.limits import PUT_GROUP

USUAL = (5, 0, "")  # priority, delay, group
PutNumbers = list[tuple[int, int]]  # first and last number of each range


class Putting:
    """The calls that put messages into a queue."""

    def __init__(self, client: Posting, name: str) -> None:
        self._client, self._name = client, check_taken(name)
        self._to = PUTS + self._name

    def _prepared(
        self,
        content: Content,
        *,
        key: str = "",
        headers: Headings = None,
        priority: int = 5,
        expiry: float | None = None,
        delay: float = 0.0,
        group: str = "",
        persistent: bool = True,
        codec: Codec | str | None = None,
        **unknown: Never,
    ) -> tuple[Prepared, PutTerms]:
        """Check the arguments, and return the message and its queue terms; callable in any thread."""
        if unknown:
            raise unknown_option(unknown, PutOptions)
        if key != "":
            check_key(key)
        check_text(group, "group", PUT_GROUP, BadArgument)
        how = whole("priority", priority, 0, 9), milliseconds("delay", delay, zero=True), group
        message = self._client._prepared(
            self._to, content, headers=headers, expiry=expiry, persistent=persistent, codec=codec
        )
        return (key, message[1], self._to, *message[3:]), () if how == USUAL else how

    @shows_options(_prepared)
    async def put(
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
            await m.queue("jobs").put({"order": 7}, priority=9)
        """
        message, how = self._prepared(content, **options)
        self._client._now().features.check_queues()
        return await self._client._sending(timeout, self._put, message, how)

    async def _put(self, sent: list[Receipt], message: Prepared, how: PutTerms) -> Published:
        sent.append(await self._posted_when_room(message, how))
        return await sent[0]

    @shows_options(_prepared)
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
        message, how = self._prepared(content, **options)
        self._client._now().features.check_queues()
        return self._posted(message, how)

    def _check(self, message: Prepared) -> None:
        """Raise the error that `_posted` would raise for the message; callable in any thread."""
        self._client._publisher.check_message(message[0], message[1], self._to)

    async def _check_here(self) -> None:
        self._client._now().features.check_queues()

    def _posted(self, message: Prepared, how: PutTerms) -> Receipt:
        put = self._client._publisher.append_put
        key, content, to, flags, props, expires, _ = message
        number = self._client._posted(put, to, how, key, content, flags, props, expires)
        return Receipt(self._client, to, number)

    async def _posted_when_room(self, message: Prepared, how: PutTerms) -> Receipt:
        while True:
            try:
                return self._posted(message, how)
            except WouldBlock:
                await self._client._room()

    @shows_options(_prepared)
    async def put_many(
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
            await q.put_many([b"job 1", b"job 2"])
        """
        several(contents, "put")
        self._prepared(b"", **options)  # raises errors in the options first
        self._client._now().features.check_queues()
        numbers: PutNumbers = []
        try:
            await self._client._within(timeout, self._put_all, contents, options, numbers)
        except MeshError as error:
            raise self._with_count(error, numbers) from None
        return count(numbers)

    def _with_count(self, error: MeshError, numbers: PutNumbers) -> MeshError:
        put, told = self._client._publisher.verdicts.count_accepted(self._to, numbers), copy(error)
        told.what = f"{messages(put)} {'was' if put == 1 else 'were'} put, then: {error.what}"
        return told

    async def _put_all(self, contents: Iterable[Content], options: PutOptions, numbers: PutNumbers) -> None:
        try:
            for turn, some in enumerate(in_parts(contents)):
                await self._put_some(some, options, numbers)
                if len(some) > 1 or turn % TOGETHER == 0:
                    await asyncio.sleep(0)  # let other tasks run
                if self._has_refused(numbers):
                    break
        except MeshError:
            with suppress(MeshError):  # earlier messages are put anyway
                await self._wait_for_answers(numbers)
            raise
        await self._wait_for_answers(numbers)

    def _has_refused(self, numbers: PutNumbers) -> bool:
        return self._client._publisher.verdicts.has_refused(self._to, numbers)

    async def _wait_for_answers(self, numbers: PutNumbers) -> None:
        """Wait until the messages with these `numbers` are answered. Raises: the first refusal."""
        publisher = self._client._publisher
        publisher.accumulator.seal()
        marks = {self._to: numbers[-1][1] + 1} if numbers else {}
        while not publisher.outbox.is_answered_below(marks):
            await self._client._change()
            self._client._now()
        if (error := publisher.verdicts.first_refusal(self._to, numbers)) is not None:
            raise error

    async def _put_some(self, contents: Sequence[Content], options: PutOptions, numbers: PutNumbers) -> None:
        publisher = self._client._publisher
        plain = [content for content in contents if type(content) is bytes]
        if len(plain) < len(contents) or max(map(len, plain), default=0) > publisher.accumulator.max_content:
            for content in contents:
                receipt = await self._posted_when_room(*self._prepared(content, **options))
                add(numbers, receipt.number, receipt.number)
            return
        while plain:
            (key, _, to, flags, props, expires, _), how = self._prepared(b"", **options)
            try:
                put = publisher.put_many
                first, n = self._client._posted(put, to, how, key, plain, flags, props, expires)
            except WouldBlock:
                await self._client._room()
                continue
            add(numbers, first, first + n - 1)
            del plain[:n]


def count(numbers: PutNumbers) -> int:
    """Return how many messages the ranges `numbers` cover."""
    return sum(last - first + 1 for first, last in numbers)


def add(numbers: PutNumbers, first: int, last: int) -> None:
    """Add first..last to the ascending ranges `numbers`."""
    if numbers and numbers[-1][1] == first - 1:
        numbers[-1] = numbers[-1][0], last
    else:
        numbers.append((first, last))


def in_parts(contents: Iterable[Content]) -> Iterator[Sequence[Content]]:
    """Yield slices of a list or tuple, or the single items of any other iterable."""
    if isinstance(contents, list | tuple):
        return (contents[at : at + TOGETHER] for at in range(0, len(contents), TOGETHER))
    return ([content] for content in contents)
