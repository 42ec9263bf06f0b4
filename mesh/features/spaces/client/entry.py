"""Values of maps, as a client reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from mesh.client.arguments import seconds
from mesh.client.message import T
from mesh.client.reading import ContentReader, bad_content
from mesh.errors import BadArgument
from mesh.wire.properties import decode_properties
from mesh.wire.replies import SpaceRow

LEAST, MOST = 0.1, 10 * 365 * 24 * 3600.0  # s, of `ttl`


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A value of a map.

    Attributes:
        key: Its key.
        value: The value.
        version: Its version, which grows with each change of the map.
        expires: When it ends, in ns since 1970. 0: never.
        stale: Whether this is a copy, which may be old, because the home did not answer.
    """

    key: str
    value: T
    version: int
    expires: int = 0
    stale: bool = False


def value_of(row: SpaceRow, reader: ContentReader, space: str) -> Any:
    """Return the decoded content of a row. Raises: BadContent."""
    try:
        own = decode_properties(row.props)
        return reader.value(row.content, own.headers, own.is_text)
    except MemoryError:
        raise
    except Exception as error:  # custom codecs may raise any exception
        raise bad_content(row.key, space, error) from error


def lifetime_of(ttl: float) -> int:
    """Return a lifetime in ms. Raises: BadArgument."""
    checked = seconds("ttl", ttl)
    if not LEAST <= checked <= MOST:
        raise BadArgument(f"ttl={ttl!r} is invalid.", hint="Use 0.1 s to 10 years, or omit ttl=.")
    return round(checked * 1000)
