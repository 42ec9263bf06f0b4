"""Packs and unpacks values within bounds: the only module that uses msgpack.

msgspec decodes, because it checks types meanwhile and reserves no memory for announced sizes. With msgpack,
1,023 nested array headers, 3 KiB in total, took 67 MB before they were refused.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgpack
import msgspec

from mesh.errors import RemoteError
from mesh.wire.limits import DEPTH

T = TypeVar("T")


def pack(value: Any) -> bytes:
    return msgpack.Packer().pack(value)


def unpacked(data: bytes) -> list[Any]:
    """Return the fields of a packed list. Raises: RemoteError MALFORMED for anything else."""
    try:
        return msgspec.msgpack.decode(data, type=list)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise malformed(data, error) from error


def size_of(value: object) -> int:
    """Return the packed size of a value or struct in bytes."""
    return len(msgspec.msgpack.encode(value))


def reader(shape: type[T], limit: int) -> Callable[[bytes], T]:
    """Return a reader of frames of at most `limit` bytes with one value of this type.

    The reader raises RemoteError for anything else: FRAME_TOO_LARGE or MALFORMED.
    """
    decode = msgspec.msgpack.Decoder(shape).decode

    def read(frame: bytes) -> T:
        if len(frame) > limit:
            raise RemoteError(
                f"a frame has {len(frame)} bytes; at most {limit} are allowed here", code="FRAME_TOO_LARGE"
            )
        try:
            return decode(frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise malformed(frame, error) from error

    return read


def malformed(frame: bytes, error: Exception) -> RemoteError:
    return RemoteError(f"malformed frame {bytes(frame[:24])!r}: {error}", code="MALFORMED")


def check_plain(value: object, depth: int = DEPTH) -> None:
    """Raise ValueError unless a value consists of msgpack's own types, with text keys and limited nesting."""
    if depth == 0:
        raise ValueError(f"arrays and maps are nested deeper than {DEPTH}")
    if isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise ValueError(f"a map has the key {name!r:.40}, which is not a text")
            check_plain(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            check_plain(inner, depth - 1)
    elif not isinstance(value, str | bytes | int | float | None):
        raise ValueError(f"a value of type {type(value).__name__} is not allowed")


unpack: Callable[[bytes], Any] = reader(object, 2**31)  # for this node's own records; of any length
