"""Encodes contents, headers and other arguments of a published message."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from mesh.client.arguments import seconds, whole, yes_or_no
from mesh.client.codecs import HEADER, Codec, encoded, media_type
from mesh.errors import BadArgument, BadName, BadType
from mesh.mapping.keyxml import check_xml
from mesh.names import CLIENT, QUEUE, SessionName, check_asked, kind_of
from mesh.shortening import shown
from mesh.values import NO_HEADERS, Headers, check_text
from mesh.wire.envelope import LOCAL_ONLY, NO_RELAY, PERSISTENT
from mesh.wire.properties import LONGEST_CODE, Properties, encode_properties

PlainContent = bytes | bytearray | memoryview | str  # published unchanged
Content = object  # plain content, or a value for a codec
LONGEST_FAILURE = 4096  # characters of a failure's text
Headings = Headers | Mapping[str, str] | Sequence[tuple[str, str]] | None
# Key, content, domain, flags, properties, expiry in ns since 1970, and the XML of the key.
Prepared = tuple[str, bytes, str, int, bytes, int, str]


def as_content(content: Content, headers: Headings, codec: Codec) -> tuple[bytes, Headings]:
    if isinstance(content, PlainContent):
        return as_bytes(content), headers
    data = encoded(content, codec)
    headers = as_headers(headers)
    said = headers.get(HEADER)
    if said is None:
        headers = Headers([(HEADER, codec.content_type), *headers.items()])
    elif media_type(said) != media_type(codec.content_type):
        what = f"The header {HEADER} is {shown(said)}, but a value is encoded as {codec.content_type}."
        raise BadArgument(what, hint="Omit the header, or pass bytes.")
    return data, headers


def flags_of(persistent: bool, local_only: bool = False, relay: bool = True) -> int:
    """Return the envelope flags for these options. Raises: BadArgument for a value that is not a bool."""
    yes = PERSISTENT if yes_or_no("persistent", persistent) else 0
    yes |= LOCAL_ONLY if yes_or_no("local_only", local_only) else 0
    return yes | (0 if yes_or_no("relay", relay) else NO_RELAY)


def as_bytes(content: PlainContent) -> bytes:
    """Return text as UTF-8, and bytes as they are. Raises: BadType for other values."""
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError as error:
            raise unwritable("content", error) from None
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    raise BadType(f"content must be bytes or str, not {type(content).__name__}.")


def unwritable(what: str, error: UnicodeEncodeError) -> BadArgument:
    hint = "Lone surrogates are not allowed. The text may be a file name, or truncated."
    character = f"{error.object[error.start]!r} at character {error.start + 1}"
    return BadArgument(f"The {what} has {character}, which UTF-8 cannot encode.", hint=hint)


def check_destination(text: Any) -> str:
    """Return the canonical name of the session or client that `text` names.

    Raises: BadName, or BadArgument if it is not a str.
    """
    if not isinstance(text, str):
        raise BadArgument(f"A destination must be a str such as client/joe, not {shown(text)}.")
    return str(SessionName.typed(text))


def is_address(text: Any) -> bool:
    """Return whether `text` is an address or a queue, and not a client or session.

    Raises: BadArgument if it is not a str.
    """
    if not isinstance(text, str):
        raise BadArgument(f"A destination must be a str such as client/joe or calc/add, not {shown(text)}.")
    return kind_of(text) != CLIENT


def address_of(text: Any) -> str:
    """Return `text` if it is an address, of this or another site. Raises: BadName, BadArgument."""
    if not isinstance(text, str):
        raise BadArgument(f"An address must be a str such as calc/add, not {shown(text)}.")
    if kind_of(text) == QUEUE:
        hint = "Put messages into a queue with queue(NAME).put(...), or `mesh queue put`."
        raise BadName(f"{text[:80]!r} is a queue, not an address.", hint=hint)
    return _address(text)


@lru_cache(maxsize=1024)  # few distinct addresses; errors are not cached
def _address(text: str) -> str:
    return check_asked(text)


def refusal_properties(code: Any, text: Any) -> tuple[bytes, bytes]:
    """Return a failure's content, shortened, and its encoded properties. Raises: BadArgument."""
    check_text(code, "code", LONGEST_CODE, BadArgument)
    if not code or not isinstance(text, str):
        hint = 'For example: fail("NO_SUCH_USER", "there is no user 5").'
        raise BadArgument(f"A failure needs a code and a text, not {shown((code, text))}.", hint=hint)
    return text[:LONGEST_FAILURE].encode(errors="replace"), encode_properties(Properties(code=code))


def own_properties(
    headers: Headings, expiry: float | None, priority: int, wall: Callable[[], int], is_text: bool
) -> tuple[bytes, int]:
    """Return a message's encoded properties, and its expiry time in ns since 1970 (0: never).

    `expiry` is in seconds from now.
    """
    level = whole("priority", priority, 0, 9)
    expires = 0 if expiry is None else wall() + int(seconds("expiry", expiry, zero=True) * 1e9)
    if headers is not None:
        headers = as_headers(headers)
    own = Properties(headers or NO_HEADERS, expires, level, is_text=is_text)
    try:
        return encode_properties(own), expires
    except UnicodeEncodeError as error:
        raise unwritable("header", error) from None


def as_xml(xml: Any) -> str:
    """Return `xml` if it is a valid description of a key. Raises: BadType, BadXml."""
    if not isinstance(xml, str):
        raise BadType(f"xml= must be a str such as <STOCK name='IBM'/>, not {shown(xml)}.")
    return check_xml(xml)


def as_headers(given: Any) -> Headers:
    """Return `given` as `Headers`; None means no headers. Raises: BadType."""
    if given is None or isinstance(given, Headers):
        return NO_HEADERS if given is None else given
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise BadType(f"headers must be a dict of str, or pairs, not {type(given).__name__}.")
    try:
        return Headers(given)
    except TypeError as error:
        raise BadType(f"{error}.") from None
