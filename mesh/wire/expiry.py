"""Expiry of messages in an envelope. Each message may have its own time, in its properties."""

from array import array
from collections.abc import Iterable

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.wire.codec import pack, unpacked
from mesh.wire.envelope import HELD, Envelope
from mesh.wire.limits import LARGEST_NUMBER
from mesh.wire.properties import decode_properties

NEVER = 0
EXPIRES = 1  # index of the expiry among the properties


def expiry(envelope: Envelope, i: int) -> int:
    """Return the expiry of message `i` in ns since 1970; NEVER for none, or unreadable properties."""
    properties, _ = envelope.message(i)
    try:
        return decode_properties(properties).expires
    except RemoteError:  # not read before; the receiver reports it
        return NEVER


def unexpired(envelope: Envelope, indices: Iterable[int], wall: int) -> tuple[int, ...]:
    """Return the indices of messages that have not expired at `wall` (ns since 1970)."""
    if not NEVER < envelope.expires <= wall:  # the earliest expiry of all
        return tuple(indices)
    return tuple([i for i in indices if not NEVER < expiry(envelope, i) <= wall])


def shifted(envelope: Envelope, ns: int) -> Envelope:
    """Return the envelope with all expiry times `ns` earlier, or later if `ns` is negative.

    With the flag HELD, only the time in the header is changed.
    """
    if not (ns and envelope.expires):
        return envelope
    moved = replace(envelope, expires=_moved(envelope.expires, ns))
    if envelope.flags & HELD or not envelope.props:
        return moved
    pieces = [envelope.message(i) for i in range(envelope.count)]
    props = [_moved_in(data, ns) for data, _ in pieces]
    slices = [data + content for data, (_, content) in zip(props, pieces, strict=True)]
    return replace(
        moved,
        body=b"".join(slices),
        sizes=_column(slices, isinstance(envelope.sizes, int)),
        props=_column(props, isinstance(envelope.props, int)),
    )


def _column(pieces: list[bytes], was_one: bool) -> int | bytes:
    """Return the lengths as a column, or as one number if all are alike and `was_one` is set."""
    lengths = array("I", map(len, pieces))
    return lengths[0] if was_one and len(set(lengths)) == 1 else lengths.tobytes()


def _moved(expires: int, ns: int) -> int:
    return max(1, min(expires - ns, LARGEST_NUMBER))  # must not become NEVER


def _moved_in(data: bytes, ns: int) -> bytes:
    """Return the properties of a message with its expiry moved, keeping fields of later releases."""
    try:
        if not decode_properties(data).expires:
            return data
        fields = unpacked(data)
    except RemoteError:  # the receiver reports it
        return data
    fields[EXPIRES] = _moved(fields[EXPIRES], ns)
    return pack(fields)


def all_void(envelope: Envelope, limit: int = NEVER) -> int:
    """Return the time at which the last message expires, in ns since 1970; NEVER if one never expires.

    Unless `limit` is NEVER, each message expires at `limit` at the latest.
    """
    if not envelope.expires:  # no message expires
        return limit
    if envelope.count == 1:
        return _earlier(envelope.expires, limit)
    times = [_earlier(expiry(envelope, i), limit) for i in range(envelope.count)]
    return max(times) if NEVER not in times else NEVER


def _earlier(one: int, other: int) -> int:
    return min(one, other) if one and other else one or other
