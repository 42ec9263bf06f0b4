"""What may be published, and how is it put into bytes?"""

import time
from collections.abc import Mapping
from typing import TypedDict

from mesh.client.later import not_yet
from mesh.names import SessionName
from mesh.values import Headers
from mesh.wire.envelope import LOCAL_ONLY, PERSISTENT
from mesh.wire.properties import Properties, encode_properties

Content = bytes | bytearray | memoryview | str
Prepared = tuple[str, bytes, str, int, bytes, int]  # key, content, domain, flags, properties, expires


class Options(TypedDict, total=False):
    """What may be said of a message that is published. `expiry` in seconds from now."""

    domain: str | None
    xml: str | None
    headers: Headers | Mapping[str, str] | None
    persistent: bool
    expiry: float | None
    priority: int  # 0 to 9; 5 if not given
    local_only: bool


def prepared(
    key: str,
    content: Content,
    domain: str | None = None,
    xml: str | None = None,
    headers: Headers | Mapping[str, str] | None = None,
    persistent: bool = False,
    expiry: float | None = None,
    priority: int = 5,
    local_only: bool = False,
) -> Prepared:
    """A message as the publisher takes it, its content copied. `expiry` in seconds from now."""
    flags = (PERSISTENT if persistent else 0) | (LOCAL_ONLY if local_only else 0)
    props, expires = b"", 0
    if headers is not None or expiry is not None or priority != 5 or xml is not None:
        props, expires = own_properties(headers, expiry, priority, xml)
    if type(content) is not bytes:
        content = as_bytes(content)
    return key, content, domain or "", flags, props, expires


def as_bytes(content: Content) -> bytes:
    """Text as UTF-8; TypeError for anything that is neither text nor bytes."""
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    raise TypeError(f"content is bytes or str, not {type(content).__name__}")


def check_destination(text: str) -> str:
    """The name itself, if a message can be sent to it; BadName or NotAvailable else."""
    if SessionName.parse(text).site is not None:
        not_yet(f"{text}: sending to another site", "sites come with relays")
    return text


def own_properties(
    headers: Headers | Mapping[str, str] | None, expiry: float | None, priority: int, xml: str | None
) -> tuple[bytes, int]:
    """(a message's own properties as bytes, when it expires in ns since 1970). `expiry` in seconds."""
    if xml is not None:
        not_yet("xml=", "keys with an XML body come with XPath queries")
    if not 0 <= priority <= 9:
        raise ValueError(f"priority {priority} is not between 0 and 9")
    expires = 0 if expiry is None else time.time_ns() + int(expiry * 1e9)
    return encode_properties(Properties(Headers(headers or ()), expires, priority)), expires
