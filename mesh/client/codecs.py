"""Codecs, which turn values into bytes and back. The header `content-type` names the codec."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Protocol, cast

import msgspec

from mesh.errors import BadArgument, BadType, MeshError
from mesh.shortening import shown
from mesh.values import check_text

HEADER = "content-type"
LONGEST_NAME = 128  # characters of a content type
LONGEST_REASON = 200  # characters: errors may quote received content
HINT = (
    "Content is bytes or str, or a value that JSON can represent: numbers, lists, dicts, "
    "dataclasses, msgspec Structs, pydantic models. For other types pass a codec=."
)

# Built-in types whose subclasses are encoded as the type itself, with the conversion. msgspec converts
# subclasses of the other types.
_PLAIN: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    bytes: bytes,
    bytearray: bytearray,
}
_SCALARS = {"b": bool, "i": int, "u": int, "f": float}  # by `dtype.kind` of numpy

_NOT_FINITE = re.compile(rb'null|"-?(?:nan|inf)"')
_PLACE = re.compile(r" - at `\$([^`]*)`")


class Codec(Protocol):
    """A way to encode values as bytes and to decode them; any object with these members is a codec.

    `content_type` names the codec in a message's header. `decode` receives the requested type, or `Any`.
    Errors of either method are raised as BadType, BadArgument or BadContent.

    Example:
        class Text:
            content_type = "text/x-repr"
            def encode(self, value): return repr(value).encode()
            def decode(self, content, type): return ast.literal_eval(content.decode())
    """

    @property
    def content_type(self) -> str:
        """The content type that names the codec in a header, such as "application/json"."""
        ...

    def encode(self, value: Any, /) -> bytes:
        """Return `value` as bytes.

        Raises:
            TypeError: The codec does not encode values of this type. The client raises BadType instead.
            ValueError: The value has no encoding. The client raises BadArgument instead.
        """
        ...

    def decode(self, content: bytes, type: Any, /) -> Any:
        """Return the value that `content` encodes.

        Args:
            content: The bytes of a message.
            type: The type that the reader expects, or `Any`.

        Raises:
            Exception: The content has no value of that type. The client raises BadContent instead.
        """
        ...


class Json:
    """The codec for JSON, as msgspec encodes it, without nan and inf."""

    content_type = "application/json"

    def encode(self, value: Any, /) -> bytes:
        """Return the value as JSON. Raises: ValueError for nan and inf, TypeError for an unknown type."""
        data = msgspec.json.encode(value, enc_hook=_dumped)
        if _NOT_FINITE.search(data):  # msgspec silently encodes nan as null
            json.dumps(msgspec.to_builtins(value, enc_hook=_dumped), allow_nan=False)
        return data

    def decode(self, content: bytes, type: Any = Any, /) -> Any:
        """Decode JSON to an instance of `type`."""
        return msgspec.json.decode(content, type=type, dec_hook=_validated)


class MsgPack:
    """The codec for MessagePack: shorter than JSON, with bytes, nan, and integers of up to 64 bits."""

    content_type = "application/msgpack"

    def encode(self, value: Any, /) -> bytes:
        """Return the value as MessagePack. Raises: TypeError for an unknown type."""
        return msgspec.msgpack.encode(value, enc_hook=_dumped)

    def decode(self, content: bytes, type: Any = Any, /) -> Any:
        """Decode MessagePack to an instance of `type`."""
        return msgspec.msgpack.decode(content, type=type, dec_hook=_validated)


JSON = Json()
CODECS: dict[str, Codec] = {"json": JSON, "msgpack": MsgPack()}
KNOWN: dict[str, Codec] = {codec.content_type: codec for codec in CODECS.values()}


def codec_of(given: Any) -> Codec:
    """Return the codec named `given`, or `given` itself if it is a codec. Raises: BadArgument, BadType."""
    if isinstance(given, str):
        if given not in CODECS:
            hint = f"Use {' or '.join(map(repr, CODECS))}, or an object of your own: see mesh.Codec."
            raise BadArgument(f"Unknown codec={shown(given)}.", hint=hint)
        return CODECS[given]
    name = getattr(given, "content_type", None)
    methods = (getattr(given, "encode", None), getattr(given, "decode", None))
    if isinstance(given, type) or not isinstance(name, str) or not all(map(callable, methods)):
        hint = "A codec has content_type, encode(value) and decode(content, type); see mesh.Codec."
        if isinstance(given, type):
            hint = "Pass an instance of the class."
        raise BadType(f"codec={shown(given)} is not a codec.", hint=hint)
    check_text(name, "content_type", LONGEST_NAME, BadArgument)
    if not media_type(name):
        raise BadArgument(
            f"The content_type {shown(name)} of a codec has no media type.",
            hint="Use one such as application/x-readings.",
        )
    return cast(Codec, given)


def encoded(value: Any, codec: Codec) -> bytes:
    """Return the encoded value. Raises: BadType or BadArgument if the codec rejects it."""
    try:
        data: Any = codec.encode(value)
    except (MeshError, MemoryError):
        raise
    except Exception as error:
        kind = BadType if isinstance(error, TypeError) else BadArgument
        name, why = type(value).__name__, reason_of(error)[0]
        what = f"A value of type {name} cannot be encoded as {codec.content_type}: {why}."
        raise kind(what, hint=HINT) from error
    if type(data) is not bytes:
        what = f"The codec of {codec.content_type} encoded a value as {type(data).__name__} instead of bytes."
        raise BadType(what)
    return data


def media_type(header: str) -> str:
    """Return the media type in a content-type: in lower case, without parameters."""
    return header.partition(";")[0].strip().lower()


def check_type(wanted: Any) -> None:
    """Raise BadType for an object that is not a type, or a type that the built-in codecs cannot decode."""
    try:
        info = msgspec.inspect.type_info(wanted)
    except Exception as error:  # non-types may raise anything
        what = f"type={shown(wanted)} is invalid: {reason_of(error)[0]}."
        raise BadType(what, hint=_TYPES) from None
    if isinstance(info, msgspec.inspect.CustomType) and not hasattr(info.cls, "model_validate"):
        raise BadType(f"type={shown(wanted)} is invalid: no decoder is known for it.", hint=_TYPES)


_TYPES = "Use a dataclass, a msgspec Struct, a pydantic model, or a type such as float or dict[str, int]."


def reason_of(error: Exception) -> tuple[str, str]:
    """Return the reason and the place (`$.temp`) of a codec's error, both shortened.

    The place is "$" if the error does not name one.
    """
    text = str(error) or type(error).__name__
    # The error of a model is nested in the error of the value that contains it.
    place = "".join(reversed(_PLACE.findall(text[-4 * LONGEST_REASON :])))
    why = _PLACE.sub("", text).rstrip(".")
    return why[:LONGEST_REASON], f"${place[:LONGEST_REASON]}"


def _dumped(value: Any) -> Any:
    """Convert a pydantic model, a numpy scalar, or a subclass of a built-in type to plain values.

    Raise TypeError for any other value.
    """
    dump = getattr(value, "model_dump", None)
    if value is None or isinstance(value, bool | tuple):  # only dict keys of these types fail
        raise TypeError(f"a {type(value).__name__} cannot be the key of a dict")
    if dump is not None and not isinstance(value, type):
        return dump(mode="json", by_alias=True)  # validation expects the aliases
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind in _SCALARS and getattr(value, "shape", None) == ():
        return _SCALARS[kind](value)
    for plain, made in _PLAIN.items():
        if isinstance(value, plain):
            return made(value)
    raise TypeError(f"no encoder is known for a {type(value).__name__}")


def _validated(wanted: Any, value: Any) -> Any:
    validate = getattr(wanted, "model_validate", None)
    if validate is None:
        raise TypeError(f"no decoder is known for a {wanted.__name__}")
    try:
        return validate(value)
    except ValueError as error:
        raise ValueError(_first_of(error)) from error


def _first_of(error: ValueError) -> str:
    """Return the first error that pydantic found, in the format of msgspec."""
    try:
        first = error.errors()[0]  # type: ignore[attr-defined]
        steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]]
        return f"{first['msg']} - at `${''.join(steps)}`" if steps else str(first["msg"])
    except (AttributeError, LookupError, TypeError):
        return str(error)
