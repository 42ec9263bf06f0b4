"""How does a value become bytes, and bytes a value? By a codec, which the header `content-type` names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Protocol, cast

import msgspec

from mesh.errors import BadArgument, BadType, MeshError, shown
from mesh.values import check_text

HEADER = "content-type"
LONGEST_NAME = 128  # characters of a content type
LONGEST_REASON = 200  # characters: what is wrong may repeat what somebody sent
HINT = (
    "Content is bytes or str, or what JSON can say: numbers, lists, dicts, dataclasses, msgspec Structs, "
    "pydantic models. For anything else give a codec=."
)

# Built-in types whose subclasses are written as they are, and how one becomes plain. (For those that are not
# here msgspec does it itself.)
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
    """A way to write values as bytes and to read them again; any object with these three can be one.

    `content_type` names it in the header of a message. `decode` gets the type that was asked for, `Any`
    without one. What either raises is told as BadType, BadArgument or BadContent.
    """

    @property
    def content_type(self) -> str: ...
    def encode(self, value: Any, /) -> bytes: ...
    def decode(self, content: bytes, type: Any, /) -> Any: ...


class Json:
    """JSON, as msgspec writes it. There is neither nan nor inf in it."""

    content_type = "application/json"

    def encode(self, value: Any, /) -> bytes:
        data = msgspec.json.encode(value, enc_hook=_dumped)
        if _NOT_FINITE.search(data):  # msgspec writes nan as null, in silence
            json.dumps(msgspec.to_builtins(value, enc_hook=_dumped), allow_nan=False)
        return data

    def decode(self, content: bytes, type: Any = Any, /) -> Any:
        return msgspec.json.decode(content, type=type, dec_hook=_validated)


class MsgPack:
    """MessagePack: shorter than JSON, knows bytes and nan, and whole numbers of up to 64 bits."""

    content_type = "application/msgpack"

    def encode(self, value: Any, /) -> bytes:
        return msgspec.msgpack.encode(value, enc_hook=_dumped)

    def decode(self, content: bytes, type: Any = Any, /) -> Any:
        return msgspec.msgpack.decode(content, type=type, dec_hook=_validated)


JSON = Json()
CODECS: dict[str, Codec] = {"json": JSON, "msgpack": MsgPack()}
KNOWN: dict[str, Codec] = {codec.content_type: codec for codec in CODECS.values()}


def codec_of(given: Any) -> Codec:
    """The codec of that name, or the object itself if it can be one; BadArgument, BadType."""
    if isinstance(given, str):
        if given not in CODECS:
            hint = f"It is {' or '.join(map(repr, CODECS))}, or an object of your own: see mesh.Codec."
            raise BadArgument(f"codec={shown(given)} is not known.", hint=hint)
        return CODECS[given]
    name = getattr(given, "content_type", None)
    methods = (getattr(given, "encode", None), getattr(given, "decode", None))
    if isinstance(given, type) or not isinstance(name, str) or not all(map(callable, methods)):
        hint = "It has content_type, encode(value) and decode(content, type); see mesh.Codec."
        raise BadType(f"codec={shown(given)} is no codec.", hint=hint)
    check_text(name, "content_type", LONGEST_NAME, BadArgument)
    if not media_type(name):
        raise BadArgument("the content_type of a codec is empty.", hint="Such as application/x-readings.")
    return cast(Codec, given)


def encoded(value: Any, codec: Codec) -> bytes:
    """The value as bytes; BadType or BadArgument when the codec does not take it."""
    try:
        data: Any = codec.encode(value)
    except (MeshError, MemoryError):
        raise
    except Exception as error:
        kind = BadType if isinstance(error, TypeError) else BadArgument
        name, why = type(value).__name__, reason_of(error)[0]
        what = f"a value of type {name} cannot be content as {codec.content_type}: {why}."
        raise kind(what, hint=HINT) from error
    if type(data) is not bytes:
        what = f"the codec of {codec.content_type} made {type(data).__name__} of a value, and not bytes."
        raise BadType(what)
    return data


def media_type(header: str) -> str:
    """The media type that a content-type names, without what stands behind a semicolon."""
    return header.partition(";")[0].strip().lower()


def check_type(wanted: Any) -> None:
    """BadType for what is no type, or one of which nobody knows how it is read."""
    try:
        info = msgspec.inspect.type_info(wanted)
    except Exception as error:  # whatever it says of what is no type
        what = f"type={shown(wanted)} cannot be: {reason_of(error)[0]}."
        raise BadType(what, hint=_TYPES) from None
    if isinstance(info, msgspec.inspect.CustomType) and not hasattr(info.cls, "model_validate"):
        raise BadType(f"type={shown(wanted)} cannot be: nobody knows how it is read.", hint=_TYPES)


_TYPES = "It is a dataclass, a msgspec Struct, a pydantic model, or a type such as float or dict[str, int]."


def reason_of(error: Exception) -> tuple[str, str]:
    """(why, where in the value: `$.temp`), of what a codec raised. Where is "$" if it does not say."""
    text = str(error) or type(error).__name__
    # What a model says stands within what is said of the value that holds it.
    place = "".join(reversed(_PLACE.findall(text[-4 * LONGEST_REASON :])))
    why = _PLACE.sub("", text).rstrip(".")
    return why[:LONGEST_REASON], f"${place[:LONGEST_REASON]}"


def _dumped(value: Any) -> Any:
    """As plain values: a pydantic model, a number of numpy, or what is of a subclass of a built-in type.

    TypeError for anything else.
    """
    dump = getattr(value, "model_dump", None)
    if value is None or isinstance(value, bool | tuple):  # anywhere else it needs no help
        raise TypeError(f"a {type(value).__name__} cannot be the key of a dict there")
    if dump is not None and not isinstance(value, type):
        return dump(mode="json", by_alias=True)  # by the names by which it is read again
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind in _SCALARS and getattr(value, "shape", None) == ():
        return _SCALARS[kind](value)
    for plain, made in _PLAIN.items():
        if isinstance(value, plain):
            return made(value)
    raise TypeError(f"nobody knows how a {type(value).__name__} is written")


def _validated(wanted: Any, value: Any) -> Any:
    """A pydantic model of what came."""
    validate = getattr(wanted, "model_validate", None)
    if validate is None:
        raise TypeError(f"nobody knows how a {wanted.__name__} is read")
    try:
        return validate(value)
    except ValueError as error:
        raise ValueError(_first_of(error)) from error


def _first_of(error: ValueError) -> str:
    """The first mistake that pydantic found, in the words of msgspec."""
    try:
        first = error.errors()[0]  # type: ignore[attr-defined]
        steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]]
        return f"{first['msg']} - at `${''.join(steps)}`" if steps else str(first["msg"])
    except (AttributeError, LookupError, TypeError):
        return str(error)
