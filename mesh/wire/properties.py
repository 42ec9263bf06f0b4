"""The properties of a single message: headers, expiry and more.

A message without properties, the usual case, has no bytes for them.
"""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.errors import BadArgument, MessageTooLarge, RemoteError
from mesh.values import NO_HEADERS, Headers
from mesh.wire.codec import pack, reader
from mesh.wire.envelope import Envelope
from mesh.wire.limits import CONTROL_FRAME

LONGEST_CODE = 64  # characters


@dataclass(frozen=True, slots=True)
class Properties:
    """The decoded properties of one message."""

    headers: Headers = NO_HEADERS
    expires: int = 0  # ns since 1970, 0 = never
    priority: int = 5  # 0 (lowest) to 9
    reply_to: str = ""
    code: str = ""  # of a refusing reply, whose content is the text
    is_text: bool = False  # content published as text, in UTF-8


class PropertiesRecord(msgspec.Struct, frozen=True, array_like=True):
    """The properties of one message, as encoded before its content.

    Attributes:
        headers: Names and values, in order. Names ignore case and may repeat.
        expires: Expiry in ns since 1970, not before `expires` of the header. 0: never.
        priority: Priority, 0 (lowest) to 9.
        reply_to: Reserved.
        code: Code of a reply that is a refusal.
        is_text: Whether the content was published as text; it is UTF-8.
    """

    headers: tuple[tuple[str, str], ...] = ()
    expires: Natural = 0
    priority: Annotated[int, Meta(ge=0, le=9)] = 5
    reply_to: str = ""
    code: Annotated[str, Meta(max_length=LONGEST_CODE)] = ""
    is_text: bool = False


NO_PROPERTIES = Properties()
_read = reader(PropertiesRecord, CONTROL_FRAME)


def encode_properties(p: Properties) -> bytes:
    """Return the bytes before the content, usually none. Raises: MessageTooLarge above 64 KiB."""
    if p == NO_PROPERTIES:
        return b""
    fields: list[object] = [list(p.headers.items()), p.expires, p.priority, p.reply_to]
    if p.code or p.is_text:  # version 1 ignores fields after `reply_to`
        fields += [p.code, True] if p.is_text else [p.code]
    data = pack(fields)
    if len(data) > CONTROL_FRAME:
        hint = "Put long data into the content."
        raise MessageTooLarge(f"Headers of {len(data)} bytes exceed the limit of {CONTROL_FRAME}.", hint=hint)
    return data


def check_properties(envelope: Envelope) -> None:
    """Raise BadArgument unless the properties of all messages can be read."""
    if not envelope.props:  # as a rule
        return
    starts = (0, *envelope.ends())
    slices = zip(starts, envelope.props_sizes(range(envelope.count)), strict=False)
    for data in {envelope.body[start : start + size] for start, size in slices}:  # many are usually alike
        try:
            decode_properties(data)
        except RemoteError as error:
            hint = (
                "The properties are [headers, expires, priority, reply_to, code, is_text]; see docs/wire.md."
            )
            what = f"The properties of a message cannot be read: {error.what}."
            raise BadArgument(what, hint=hint, code="BAD_PROPERTIES") from error


def decode_properties(data: bytes) -> Properties:
    """Return the properties from their bytes. Raises: RemoteError if they are malformed."""
    if not data:
        return NO_PROPERTIES
    record = _read(data)
    return Properties(
        Headers(record.headers), record.expires, record.priority, record.reply_to, record.code, record.is_text
    )


TEXT_ONLY = encode_properties(Properties(is_text=True))  # shared by most texts
