"""The base of the calls that post messages: prepares them, posts them, and waits for their answers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Never, ParamSpec, TypeVar

from mesh.client.codecs import Codec, codec_of
from mesh.client.connected import Connected
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
from mesh.client.oneloop import check_loop
from mesh.client.options import PublishOptions, unknown_option
from mesh.client.receipt import Receipt
from mesh.errors import MeshTimeout, WouldBlock
from mesh.reserved import check_domain_free
from mesh.values import Published
from mesh.wire.properties import TEXT_ONLY

P = ParamSpec("P")
T = TypeVar("T")


class Posting(Connected):
    """A session that posts messages. The classes with the calls of the public API derive from it."""

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
        **unknown: Never,
    ) -> Prepared:
        """Check a message's arguments, and return it as the publisher expects it; callable in any thread.

        Content that the caller could change is copied.
        """
        if unknown:
            raise unknown_option(unknown, PublishOptions)
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

    def _post_prepared(self, message: Prepared, to: str = "") -> Receipt:
        """Post a message that the caller prepared, possibly in another thread."""
        key, content, domain, flags, props, expires, xml = message
        post = self._publisher.append_message
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
        """Call `post` and return its result. Raises: WouldBlock.

        If the window is full, the answers that have arrived are read before a second attempt.
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
        self._publisher.check_message(message[0], message[1])
        check_domain_free(message[2])

    async def _post_when_room(self, message: Prepared, to: str = "") -> Receipt:
        while True:
            try:
                return self._post_prepared(message, to)
            except WouldBlock:  # an earlier message may fill the window
                await self._room()

    async def _room(self) -> None:
        publisher = self._now().publisher
        while not publisher.outbox.open:
            await self._change()

    async def _sending(
        self,
        timeout: float | None,
        work: Callable[Concatenate[list[Receipt], P], Coroutine[Any, Any, T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `work` as `_within` does; a MeshTimeout lists the ids of the messages posted so far."""
        sent: list[Receipt] = []
        try:
            return await self._within(timeout, work, sent, *args, **kwargs)
        except MeshTimeout as error:
            error.ids = tuple(receipt.id for receipt in sent)
            raise

    async def _published(self, sent: list[Receipt], message: Prepared, to: str = "") -> Published:
        sent.append(await self._post_when_room(message, to))
        return await sent[0]

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
