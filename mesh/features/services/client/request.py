"""Requests as a service receives them."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from mesh.client.codecs import Codec, codec_of
from mesh.client.content import Content, Headings, as_content, own_properties, refusal_properties
from mesh.client.message import Message, T, TypedMessage
from mesh.client.oneloop import check_loop
from mesh.client.shell import Shell
from mesh.errors import LocalError
from mesh.features.services.client.core.serving import ClientServing, TakenRequest
from mesh.wire.properties import TEXT_ONLY

if TYPE_CHECKING:
    from mesh.client.reading import ContentReader


class Served:
    """The shell, registration and codec of a service, with which its requests send their replies."""

    __slots__ = ("codec", "serving", "shell")
    shell: Shell
    serving: ClientServing
    codec: Codec

    def __init__(self, shell: Shell, serving: ClientServing, codec: Codec) -> None:
        self.shell, self.serving, self.codec = shell, serving, codec


class Request(TypedMessage[T]):
    """A message to an address. Its sender may wait for a reply: see `wants_reply`.

    `headers`, `sender` and `value` are those of any message; `to` is the address.

    Example:
        async for request in orders:
            await request.reply({"accepted": True})
    """

    # These fields are always set, but fields of a Struct need defaults after a field that has one.
    _taken: TakenRequest | None = None
    _served: Served | None = None

    @property
    def wants_reply(self) -> bool:
        """Whether the sender waits for a reply: after `request` and `gather`, not after `send`."""
        return self._taken is not None and self._taken.wants_reply

    @property
    def remaining(self) -> float:
        """The seconds for which the sender still waits: `inf` without a time limit, 0 after the limit."""
        taken, served = self._taken, self._served
        if taken is None or served is None or taken.until == inf:
            return inf
        context = served.shell.now().context if served.shell.is_open else served.shell.context
        return max(0.0, taken.until - context.now)

    async def reply(
        self, content: Content = b"", *, headers: Headings = None, codec: Codec | str | None = None
    ) -> bool:
        """Reply to the request, once. Replies made in one turn of the event loop are sent together.

        Args:
            content: The content, as for `publish`.
            headers: Names and values, as for `publish`.
            codec: As for `publish`.

        Returns:
            False if the sender no longer waits: its time limit is over, the connection was lost, the service
                was left, or the message was sent by `send`.

        Raises:
            LocalError: The request was answered before, with the code ANSWERED.
            BadType, BadArgument, MessageTooLarge: The content is invalid; another reply is still possible.

        Example:
            await request.reply(b"done")
        """
        return self._reply(content, headers, codec)

    async def fail(self, code: str, text: str = "") -> bool:
        """Fail the request: its sender receives RequestFailed.

        Args:
            code: The error's code, of up to 64 characters.
            text: The error's text.

        Returns:
            False if the sender no longer waits, as for `reply`.

        Raises:
            LocalError: The request was answered before, with the code ANSWERED.
            BadArgument: The code or text is invalid.

        Example:
            await request.fail("NO_SUCH_USER", "There is no user 5.")
        """
        return self._fail(code, text)

    @property
    def _awaits(self) -> bool:
        return self.wants_reply and self._taken is not None and not self._taken.is_answered

    def _reply(self, content: Content, headers: Headings = None, codec: Codec | str | None = None) -> bool:
        assert self._served is not None
        used = self._served.codec if codec is None else codec_of(codec)
        data, headers = as_content(content, headers, used)
        is_text = isinstance(content, str)
        props = TEXT_ONLY if is_text else b""
        if headers is not None:
            props, _ = own_properties(headers, None, 5, self._served.shell.wall, is_text)
        return self._answer(data, props)

    def _fail(self, code: str, text: str = "") -> bool:
        data, props = refusal_properties(code, text)
        return self._answer(data, props)

    def _answer(self, data: bytes, props: bytes) -> bool:
        taken, served = self._taken, self._served
        assert taken is not None and served is not None
        if taken.is_answered:
            what = f"reply() or fail() was called before for this request to {self.to}."
            raise LocalError(what, hint="Each request has one reply, or one failure.", code="ANSWERED")
        check_loop(served.shell.loop)
        if not served.shell.is_open:
            return False
        served.shell.now().publisher.check_message("", data, self.to)
        taken.is_answered = True
        return served.serving.settle_reply(taken, data, props)


def made_of(taken: TakenRequest, served: Served, reader: ContentReader) -> Request[Any]:
    """Return the request object that the user of the service receives."""
    m: Message[Any] = taken.message
    key = m.key or m.to  # errors and logs name the address
    return Request(m._envelope, m._index, key, m.content, reader, UNSET, taken, served)


def read_by(request: Request[Any], reader: ContentReader) -> Request[Any]:
    """Set the reader that decodes the value, and return the request."""
    request._reader = reader
    return request
