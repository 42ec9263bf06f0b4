"""Decodes contents by their content-type and the type that the reader wants."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from mesh.client.codecs import HEADER, JSON, KNOWN, Codec, check_type, media_type, reason_of
from mesh.errors import BadContent
from mesh.printable import harmless
from mesh.values import Headers

ENDINGS = {"+json": "application/json", "+msgpack": "application/msgpack"}  # such as application/geo+json
OTHER_NAMES = {
    "application/x-msgpack": "application/msgpack",
    "application/vnd.msgpack": "application/msgpack",
}
UNTYPED = 4 << 20  # bytes; nested lists may take 70 times more
LONGEST_SHOWN = 80  # characters of received text


class ContentReader:
    """Decodes contents as values of `type`; if `type` is None, only the content-type decides.

    Content without a content-type is returned as published, bytes or text, if `type` is None. Otherwise a
    text that is a valid `type` is converted directly. `codec` decodes other content, unless `type` is bytes
    or str.
    """

    def __init__(self, codec: Codec = JSON, type: Any = None) -> None:
        self._codec = codec
        self._type = type
        self._known = {**KNOWN, media_type(codec.content_type): codec}

    def value(self, content: bytes, headers: Headers, is_text: bool = False) -> Any:
        """Decode `content`, which was published as a str if `is_text`. Raises: the codec's errors."""
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
        with suppress(msgspec.ValidationError, TypeError):  # base64 is for JSON only
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
        raise ValueError(f"no decoder is known for its content type {name[:LONGEST_SHOWN]!r}")


WHATEVER = ContentReader()


def untyped(content: bytes, codec: Codec) -> Any:
    """Decode `content` without a requested type. Raises: the codec's errors.

    A built-in codec raises ValueError for more than UNTYPED bytes.
    """
    if len(content) > UNTYPED and any(codec is known for known in KNOWN.values()):
        raise ValueError(f"content of {len(content)} bytes (above {UNTYPED}) needs a type, such as type=dict")
    return codec.decode(content, Any)


def reader_of(codec: Codec, wanted: Any) -> ContentReader | None:
    """Return the reader for values of type `wanted`, or None if the default one suffices. Raises: BadType."""
    if wanted is Any:
        wanted = None
    is_own = not any(codec is known for known in KNOWN.values())
    if wanted is not None and not is_own:
        check_type(wanted)
    return ContentReader(codec, wanted) if is_own or wanted is not None else None


def bad_content(key: str, sender: str, error: Exception | str) -> BadContent:
    why, place = reason_of(error) if isinstance(error, Exception) else (error, "$")
    at = "" if place == "$" else f" at {place}"
    of = f"The content of {key}" if key else "The content"
    what = harmless(f"{of} from {sender or 'an unknown sender'} cannot be read{at}: {why}.")
    hint = "The bytes of the content are in `.content`."
    return BadContent(what, key=key, sender=sender, place=harmless(place), hint=hint)
