"""What does a node say of itself to those who choose among nodes, such as the rack it stands in?"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from msgspec import Raw

from mesh.errors import BadConfig

LONGEST = 512  # bytes, as it travels

NONE: Mapping[str, str] = MappingProxyType({})
NOTHING = Raw(b"\x80")  # the same, as it travels
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, str]).decode


def check_metadata(metadata: Mapping[str, str]) -> None:
    """BadConfig when it is more than others would hear."""
    if "" in metadata:
        raise BadConfig("a name is empty.", hint='Such as rack = "r7".')
    if (size := len(_encode(metadata))) > LONGEST:
        raise BadConfig(f"{size} bytes, but at most {LONGEST} travel.", hint="Say less, or say it shorter.")


def said(metadata: Mapping[str, str]) -> Raw:
    """What others are told."""
    return Raw(_encode(metadata))


def heard(metadata: Raw) -> Mapping[str, str]:
    """What a node has said; nothing, if that is too long or no text by names."""
    # Left as it came until here: whatever stands there must cost nobody the connection.
    raw = bytes(metadata)
    if len(raw) > LONGEST:
        return NONE
    try:
        return MappingProxyType(_decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return NONE
