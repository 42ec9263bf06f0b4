"""Values, types and defaults as docs/wire.md writes them."""

from __future__ import annotations

import json
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgpack
import msgspec

from mesh.values import Hop
from mesh.wire import commands as c

PLAIN = {
    bytes: "bin",
    str: "text",
    bool: "bool",
    int: "int",
    type(None): "nil",
    Any: "any",
    object: "any",
    msgspec.Raw: "map",
}


def notation(value: object) -> str:
    """Return a msgpack value as JSON, with bytes in angle brackets and `nil` for nil."""
    match value:
        case bytes():
            return f"<{value.hex()}>"
        case list():
            return f"[{', '.join(map(notation, value))}]"
        case dict():
            return f"{{{', '.join(f'{notation(k)}: {notation(v)}' for k, v in value.items())}}}"
        case None:
            return "nil"
    return json.dumps(value, ensure_ascii=False)


def type_in_words(hint: Any) -> str:
    if hint == c.U32:
        return "u32"
    if hasattr(hint, "__metadata__"):
        base = get_args(hint)[0]
        is_number = base is int and any(
            (low := getattr(meta, "ge", None)) is not None and low >= 0 for meta in hint.__metadata__
        )
        return "uint" if is_number else type_in_words(base)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is list or (origin is tuple and arguments[1:] == (...,)):
        return f"[{type_in_words(arguments[0])} …]"
    if origin is tuple:
        return f"[{', '.join(map(type_in_words, arguments))}]"
    if hint is Hop:
        return f"[{', '.join(map(type_in_words, get_type_hints(Hop, include_extras=True).values()))}]"
    if origin is dict:
        return "map"
    if origin is Literal:
        return "text"
    if origin is Union or type(hint).__name__ == "UnionType":
        return " or ".join(map(type_in_words, arguments))
    return PLAIN.get(hint) or str(hint.__name__)


def default_in_words(field: msgspec.structs.FieldInfo) -> str:
    """Return the default of a field as the page writes it; empty for a required field."""
    if field.required:
        return ""
    default = field.default
    if default is msgspec.NODEFAULT:
        default = field.default_factory()
    if isinstance(default, msgspec.Raw):
        default = msgpack.unpackb(bytes(default))
    if isinstance(default, msgspec.Struct):
        return "all defaults"
    if default == float("inf"):
        return "no limit"
    return f"`{notation(list(default) if isinstance(default, tuple) else default)}`"
