"""What does a content say? By its content-type, and the type that its reader wants."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from mesh.client.codecs import HEADER, JSON, KNOWN, Codec, check_type, media_type, reason_of
from mesh.errors import BadContent
from mesh.printable import harmless
from mesh.values import Headers

ENDINGS = {"+json": "application/json", "+msgpack": "application/msgpack"}  # as application/geo+json has one
OTHER_NAMES = {
    "application/x-msgpack": "application/msgpack",
    "application/vnd.msgpack": "application/msgpack",
}
UNTYPED = 4 << 20  # bytes: of lists within lists each byte may become seventy, and takes its time
LONGEST_SHOWN = 80  # characters of what somebody else wrote


class ContentReader:
    """A way to read contents: each as a value of `type`, or with None as whatever it says that it is.

    What has no content-type is as it was published: bytes, or text. For a type that takes neither it is read
    by `codec`.
    """

    def __init__(self, codec: Codec = JSON, type: Any = None) -> None:
        self._codec = codec
        self._type = type
        self._known = {**KNOWN, media_type(codec.content_type): codec}

    def value(self, content: bytes, headers: Headers, is_text: bool = False) -> Any:
        """Return the value of a content. `is_text`: it was published as text. Raises what a codec does."""
        header = headers.get(HEADER)
        if header is None:
            return self._text(content) if is_text else self._plain(content)
        name = media_type(header)
        if name in ("text/plain", "application/octet-stream"):
            given = content.decode() if name == "text/plain" else content
            return given if self._type is None else msgspec.convert(given, self._type)
        codec = self._codec_for(name)
        return untyped(content, codec) if self._type is None else codec.decode(content, self._type)

    def _text(self, content: bytes) -> Any:
        if self._type is None:
            return content.decode()
        with suppress(msgspec.ValidationError, TypeError):  # bytes in base64 are for JSON, not for a text
            return msgspec.convert(content.decode(), self._type, builtin_types=(bytes,))
        return self._plain(content)

    def _plain(self, content: bytes) -> Any:
        if self._type is None or self._type is bytes:
            return content
        return content.decode() if self._type is str else self._codec.decode(content, self._type)

    def _codec_for(self, name: str) -> Codec:
        names = (name, OTHER_NAMES.get(name, ""), *(of for end, of in ENDINGS.items() if name.endswith(end)))
        for known in names:
            if known in self._known:
                return self._known[known]
        raise ValueError(f"nobody here reads {name[:LONGEST_SHOWN]!r}, its content-type")


WHATEVER = ContentReader()


def untyped(content: bytes, codec: Codec) -> Any:
    """The value of a content that may say anything. Raises whatever a codec does."""
    if len(content) > UNTYPED and any(codec is known for known in KNOWN.values()):
        raise ValueError(
            f"of {len(content)} bytes its type must be known, be it type=dict (from {UNTYPED} on)"
        )
    return codec.decode(content, Any)


def reader_of(codec: Codec, wanted: Any) -> ContentReader | None:
    """The way in which a subscription reads; None: as messages do by themselves. BadType."""
    if wanted is Any:
        wanted = None
    is_own = not any(codec is known for known in KNOWN.values())
    if wanted is not None and not is_own:
        check_type(wanted)
    return ContentReader(codec, wanted) if is_own or wanted is not None else None


def bad_content(key: str, sender: str, error: Exception | str) -> BadContent:
    """The error for a content that cannot be read."""
    why, place = reason_of(error) if isinstance(error, Exception) else (error, "$")
    at = "" if place == "$" else f" at {place}"
    of = f"the content of {key}" if key else "a content"
    what = harmless(f"{of} from {sender or 'nobody'} cannot be read{at}: {why}.")
    hint = "Its bytes are in `.content`."
    return BadContent(what, key=key, sender=sender, place=harmless(place), hint=hint)
