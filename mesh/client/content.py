"""What may be published, and how is it put into bytes?"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict, cast

from mesh.client.arguments import seconds, whole, yes_or_no
from mesh.client.codecs import HEADER, Codec, codec_of, encoded, media_type
from mesh.client.later import not_yet
from mesh.errors import BadArgument, BadType, shown
from mesh.names import SessionName
from mesh.values import NO_HEADERS, Headers
from mesh.wire.envelope import LOCAL_ONLY, PERSISTENT
from mesh.wire.properties import Properties, encode_properties

Bytes = bytes | bytearray | memoryview | str  # what is published as it is
Content = object  # these, or a value of which a codec makes bytes
Prepared = tuple[str, bytes, str, int, bytes, int]  # key, content, domain, flags, properties, expires


class Options(TypedDict, total=False):
    """What may be said of a message that is published. `expiry` in seconds from now.

    `codec`: "json", "msgpack" or one of your own, for a value; bytes and text are left as they are.
    """

    domain: str | None
    xml: str | None
    headers: Headers | Mapping[str, str] | None
    persistent: bool
    expiry: float | None
    priority: int  # 0 to 9; 5 if not given
    local_only: bool
    codec: Codec | str | None  # None: that of the client


def as_content(content: Content, options: Options, codec: Codec) -> tuple[Bytes, Options]:
    """A value as bytes, and the options with a header that says so; bytes and text as they are."""
    if isinstance(content, Bytes):
        return content, options
    own = options.get("codec")
    codec = codec if own is None else codec_of(own)
    data, given = encoded(content, codec), options.get("headers")
    headers = NO_HEADERS if given is None else given if isinstance(given, Headers) else _headers(given)
    said = headers.get(HEADER)
    if said is None:
        headers = Headers([(HEADER, codec.content_type), *headers.items()])
    elif media_type(said) != media_type(codec.content_type):
        hint = "Leave that header out, or give bytes."
        raise BadArgument(f"a value is written as {codec.content_type}, and not as {shown(said)}.", hint=hint)
    return data, cast(Options, {**options, "headers": headers})


def prepared(
    key: str,
    content: Bytes,
    domain: str | None = None,
    xml: str | None = None,
    headers: Headers | Mapping[str, str] | None = None,
    persistent: bool = False,
    expiry: float | None = None,
    priority: int = 5,
    local_only: bool = False,
    codec: Codec | str | None = None,
    *,
    wall: Callable[[], int] = time.time_ns,
) -> Prepared:
    """A message as the publisher takes it, its content copied. `expiry` in seconds from now, which `wall`
    tells in ns since 1970.
    """
    if codec is not None:
        codec_of(codec)
    flags = 0
    if persistent is not False or local_only is not False:
        flags = flags_of(persistent, local_only)
    props, expires = b"", 0
    if headers is not None or expiry is not None or priority != 5 or xml is not None:
        props, expires = own_properties(headers, expiry, priority, xml, wall)
    if type(content) is not bytes:
        content = as_bytes(content)
    return key, content, "" if domain is None else domain, flags, props, expires


def flags_of(persistent: bool, local_only: bool) -> int:
    """BadArgument for what only counts as true or false."""
    yes = PERSISTENT if yes_or_no("persistent", persistent) else 0
    return yes | (LOCAL_ONLY if yes_or_no("local_only", local_only) else 0)


def as_bytes(content: Bytes) -> bytes:
    """Text as UTF-8; BadType for anything that is neither text nor bytes."""
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError as error:
            raise unwritable("content", error) from None
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    raise BadType(f"content is bytes or str, not {type(content).__name__}.")


def unwritable(what: str, error: UnicodeEncodeError) -> BadArgument:
    """A text that has no UTF-8."""
    hint = "Lone surrogates are not allowed; is it a file name, or text that was cut?"
    return BadArgument(f"The {what} holds {error.object[error.start]!r} at {error.start}.", hint=hint)


def check_destination(text: Any) -> str:
    """The name itself, if a message can be sent to it; BadName or NotAvailable else."""
    if not isinstance(text, str):
        raise BadArgument(f"a destination is a str such as client/joe, not {shown(text)}.")
    if SessionName.parse(text).site is not None:
        not_yet(f"{text}: sending to another site", "sites come with relays")
    return text


def own_properties(
    headers: Headers | Mapping[str, str] | None,
    expiry: float | None,
    priority: int,
    xml: str | None,
    wall: Callable[[], int],
) -> tuple[bytes, int]:
    """(a message's own properties as bytes, when it expires in ns since 1970). `expiry` in seconds."""
    if xml is not None:
        not_yet("xml=", "keys with an XML body come with XPath queries")
    level = whole("priority", priority, 0, 9)
    expires = 0 if expiry is None else wall() + int(seconds("expiry", expiry, zero=True) * 1e9)
    if headers is not None and not isinstance(headers, Headers):
        headers = _headers(headers)
    try:
        return encode_properties(Properties(headers or NO_HEADERS, expires, level)), expires
    except UnicodeEncodeError as error:
        raise unwritable("header", error) from None


def _headers(given: Any) -> Headers:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise BadType(f"headers are a dict of str, or pairs, not {type(given).__name__}.")
    try:
        return Headers(given)
    except TypeError as error:
        raise BadType(f"{error}.") from None
