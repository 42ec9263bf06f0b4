"""A message's own properties: headers, expiry, reply address. Often none, and then no bytes at all."""

from dataclasses import dataclass

from mesh.errors import RemoteError
from mesh.values import NO_HEADERS, Headers
from mesh.wire.codec import pack, unpack


@dataclass(frozen=True, slots=True)
class Properties:
    """What belongs to one message only."""

    headers: Headers = NO_HEADERS
    expires: int = 0  # ns since 1970, 0 = never
    priority: int = 5  # 0 (lowest) to 9
    reply_to: str = ""


NO_PROPERTIES = Properties()


def encode_properties(p: Properties) -> bytes:
    """Bytes that stand before the content; empty for the usual case."""
    if p == NO_PROPERTIES:
        return b""
    return pack([list(p.headers.items()), p.expires, p.priority, p.reply_to])


def decode_properties(data: bytes) -> Properties:
    """The reverse; RemoteError when malformed."""
    if not data:
        return NO_PROPERTIES
    value = unpack(data)
    try:
        headers, expires, priority, reply_to = value
        return Properties(Headers((n, v) for n, v in headers), int(expires), int(priority), str(reply_to))
    except (TypeError, ValueError) as error:
        raise RemoteError(f"message properties malformed: {value!r:.80}", code="MALFORMED") from error
