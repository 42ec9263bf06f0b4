"""The receipt of a posted message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Protocol

from msgspec import Struct

from mesh.values import Published, message_id


class Poster(Protocol):
    """The client that posted a message and receives its answer."""

    @property
    def _stream(self) -> bytes: ...
    @property
    def _result(self) -> Callable[[Receipt], Awaitable[Published]]: ...


class Receipt(Struct, frozen=True, eq=False, gc=False):
    """The receipt of a posted message. Awaiting it returns the `Published`, or raises the refusal.

    Example:
        receipt = m.post("log", b"started")
        published = await receipt
    """

    _poster: Poster
    domain: str
    number: int

    @property
    def id(self) -> str:
        """The id of the message, as its receivers see it."""
        return message_id(self._poster._stream, self.domain, self.number)

    def __await__(self) -> Generator[object, None, Published]:
        return self._poster._result(self).__await__()
