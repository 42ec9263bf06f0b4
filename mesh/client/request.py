"""What does somebody get who serves an address?"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from mesh.client.codecs import Codec, codec_of
from mesh.client.content import Content, Headings, as_content, own_properties, refusal_properties
from mesh.client.core.serving import ClientServing, TakenRequest
from mesh.client.message import Message, T, TypedMessage
from mesh.client.oneloop import check_loop
from mesh.client.shell import Shell
from mesh.errors import LocalError
from mesh.wire.properties import TEXT_ONLY

if TYPE_CHECKING:
    from mesh.client.reading import ContentReader


class Served:
    """The side of the service of a request: its answers go here."""

    __slots__ = ("codec", "serving", "shell")
    shell: Shell
    serving: ClientServing
    codec: Codec

    def __init__(self, shell: Shell, serving: ClientServing, codec: Codec) -> None:
        self.shell, self.serving, self.codec = shell, serving, codec


class Request(TypedMessage[T]):
    """A message for somebody who serves its address. Who wants a reply waits until there is one.

    `headers`, `sender` and `value` are as of any message; `to` is the address.
    """

    # Set where it is made: a Struct's own fields have defaults from here on.
    _taken: TakenRequest | None = None
    _served: Served | None = None

    @property
    def wants_reply(self) -> bool:
        """Whether somebody waits for a reply: it was sent by `request` or `gather`, not by `send`."""
        return self._taken is not None and self._taken.wants_reply

    @property
    def remaining(self) -> float:
        """How many seconds its sender will still wait; `inf`: as long as it takes."""
        taken, served = self._taken, self._served
        if taken is None or served is None or taken.until == inf:
            return inf
        desk = served.shell.now().desk if served.shell.is_open else served.shell.desk
        return max(0.0, taken.until - desk.now)

    async def reply(
        self, content: Content = b"", *, headers: Headings = None, codec: Codec | str | None = None
    ) -> bool:
        """Reply, once; all replies of a turn leave together.

        `content` and `headers` are as for `publish`. False: nobody waits for it any more, for the time is
        over, the connection broke meanwhile, the service was left, or it was sent by `send`. Raises
        LocalError ANSWERED the second time, and what `publish` says of a content; then it may be answered
        yet.
        """
        return self._reply(content, headers, codec)

    async def fail(self, code: str, text: str = "") -> bool:
        """Let it fail: its sender gets RequestFailed with this `code` (up to 64 characters, such as
        "NO_SUCH_USER") and text. The rest is as for `reply`.
        """
        return self._fail(code, text)

    @property
    def _awaits(self) -> bool:
        """Is there something to be said yet?"""
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
            what = "this request was answered before."
            raise LocalError(what, hint="Each has one reply, or one failure.", code="ANSWERED")
        check_loop(served.shell.loop)
        if not served.shell.is_open:
            return False
        served.shell.now().publisher.check("", data, self.to)
        taken.is_answered = True
        return served.serving.reply(taken, data, props)


def made_of(taken: TakenRequest, served: Served, reader: ContentReader) -> Request[Any]:
    """The request for who serves it."""
    m: Message[Any] = taken.message
    key = m.key or m.to  # what is told of it names its address
    return Request(m._envelope, m._index, key, m.content, reader, UNSET, taken, served)


def read_by(request: Request[Any], reader: ContentReader) -> Request[Any]:
    """The same one, whose value is read so."""
    request._reader = reader
    return request
