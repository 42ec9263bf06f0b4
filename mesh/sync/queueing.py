"""The hand-written part of queues: messages pass from the user's threads to the client's thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Unpack

from mesh.client import receipt
from mesh.client.arguments import several
from mesh.client.content import Content
from mesh.client.options import PutOptions
from mesh.errors import MeshError, WouldBlock
from mesh.features.queues.client import queue
from mesh.features.queues.client.putting import PutNumbers, add, count, in_parts
from mesh.sync.delivery import Delivery
from mesh.sync.posts import Receipt
from mesh.sync.session import ThreadClient
from mesh.sync.thread import LoopThread


class ThreadQueue:
    """A queue by name, with the calls of `mesh.Queue`.

    Example:
        q = m.queue("jobs")
        q.declare(max_attempts=3)
        q.put(b"job 1")
    """

    def __init__(self, client: ThreadClient, thread: LoopThread, made: queue.Queue) -> None:
        self._client, self._thread, self._aio = client, thread, made
        self._run, self._left = client._run, client._left

    def post(self, content: Content, **options: Unpack[PutOptions]) -> Receipt:
        self._thread.raise_if_ended()
        message, how = self._aio._prepared(content, **options)
        self._aio._check(message)
        return self._client._post(len(message[1]), partial(self._aio._posted_when_room, message, how))

    def put_many(
        self, contents: Iterable[Content], *, timeout: float | None = None, **options: Unpack[PutOptions]
    ) -> int:
        several(contents, "put")
        self._aio._prepared(b"", **options)  # raises errors in the options first
        numbers: PutNumbers = []
        left = self._left(timeout)

        def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
            self._client._run_within(left(), work)

        try:
            run(self._aio._check_here)
            for some in in_parts(contents):
                if isinstance(contents, list | tuple):
                    run(partial(self._aio._put_some, some, options, numbers))
                else:
                    self._put_one(some[0], options, numbers, left)
                if self._aio._has_refused(numbers):
                    break
            run(partial(self._aio._wait_for_answers, numbers))
        except MeshError as error:
            with suppress(MeshError):  # earlier messages are put anyway
                run(partial(self._aio._wait_for_answers, numbers))
            raise self._aio._with_count(error, numbers) from None
        return count(numbers)

    def _put_one(
        self, content: Content, options: PutOptions, numbers: PutNumbers, left: Callable[[], float | None]
    ) -> None:
        """Pass one message to the client's thread when the window has room; do not wait for its answer."""
        message, how = self._aio._prepared(content, **options)
        self._aio._check(message)

        async def post() -> receipt.Receipt:
            posted = await self._aio._posted_when_room(message, how)
            add(numbers, posted.number, posted.number)
            return posted

        while True:
            try:
                self._client._post(len(message[1]), post)
                return
            except WouldBlock:
                self._client._wait_for_room(left())

    def get(
        self, *, timeout: float | None = None, selector: str | None = None, type: type[Any] | None = None
    ) -> Delivery[Any] | None:
        left = self._left(timeout)
        found = self._run(left(), lambda: self._aio.get(timeout=left(), selector=selector, type=type))
        return None if found is None else Delivery._blocking(self._thread, found)
