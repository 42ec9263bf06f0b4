"""The metadata of a node, such as its rack, for balancers and other choices among nodes."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from msgspec import Raw

from mesh.errors import BadConfig

LONGEST = 512  # bytes, encoded

NONE: Mapping[str, str] = MappingProxyType({})
NOTHING = Raw(b"\x80")  # `NONE`, encoded
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, str]).decode


def check_metadata(metadata: Mapping[str, str]) -> None:
    """Raise BadConfig if a name is empty, or if the metadata is larger than other nodes accept."""
    if "" in metadata:
        raise BadConfig("The name of an entry is empty.", hint='Write, for example, rack = "r7".')
    if (size := len(_encode(metadata))) > LONGEST:
        raise BadConfig(
            f"The metadata has {size} bytes; the limit is {LONGEST}.", hint="Use fewer or shorter entries."
        )


def said(metadata: Mapping[str, str]) -> Raw:
    return Raw(_encode(metadata))


def heard(metadata: Raw) -> Mapping[str, str]:
    """Return the metadata that a node sent; empty if it is too long or not a map of texts."""
    # Decoded only here, so that invalid metadata does not close a connection.
    raw = bytes(metadata)
    if len(raw) > LONGEST:
        return NONE
    try:
        return MappingProxyType(_decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return NONE
