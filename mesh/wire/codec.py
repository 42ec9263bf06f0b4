"""Values to bytes and back, with bounds: the one place that knows msgpack."""

from typing import Any

import msgpack

from mesh.errors import RemoteError
from mesh.wire.limits import CONTROL_FRAME, MIB

# A frame is small, so element counts are bounded by its size; what is left to forbid is a short
# frame that promises a huge array, extension types, and text that is not UTF-8.
_LIMITS: dict[str, Any] = {
    "raw": False,
    "strict_map_key": True,
    "use_list": True,
    "max_str_len": MIB,
    "max_bin_len": MIB,
    "max_array_len": 8192,
    "max_map_len": 1024,
    "max_ext_len": 0,
}


def pack(value: Any) -> bytes:
    """One msgpack value."""
    return msgpack.packb(value, use_bin_type=True)


def unpack(frame: bytes, limit: int = CONTROL_FRAME) -> Any:
    """The value in `frame`; RemoteError for anything but one whole msgpack value of at most `limit` bytes."""
    if len(frame) > limit:
        raise RemoteError(f"frame of {len(frame)} bytes, at most {limit} allowed", code="FRAME_TOO_LARGE")
    try:
        return msgpack.unpackb(frame, **_LIMITS)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise RemoteError(f"not msgpack: {bytes(frame[:24])!r} ({error})", code="MALFORMED") from error
