"""Envelopes for tests, as a client builds them. Most fields have defaults."""

from array import array

from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.properties import Properties, encode_properties

STREAM = b"s" * 16


def envelope(
    keys: str = "a",
    contents: list[bytes] | None = None,
    *,
    first: int = 1,
    low: int = 1,
    domain: str = "",
    persistent: bool = False,
    stream: bytes = STREAM,
    flags: int = 0,
    sent: int = 0,
    expires: int = 0,
) -> Envelope:
    """Return an envelope with one message for each word of `keys`, which is its key.

    Contents are empty unless given. `expires` is the expiry of each message.
    """
    words = keys.split()
    table = tuple(dict.fromkeys(words))
    own = encode_properties(Properties(expires=expires))
    slices = [own + content for content in contents or [b""] * len(words)]
    index = array("H", map(table.index, words)).tobytes() if len(table) > 1 else b""
    return Envelope(
        stream=stream, domain=domain, first=first, last=first + len(words) - 1, keys=table, count=len(words),
        sizes=array("I", map(len, slices)).tobytes(), body=b"".join(slices), index=index, low=low,
        flags=flags | (PERSISTENT if persistent else 0), sent=sent, expires=expires,
        props=array("I", [len(own)] * len(words)).tobytes() if own else 0,
    )  # fmt: skip
