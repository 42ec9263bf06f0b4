"""Which messages of an envelope are void? Each may have a time of its own, in its properties."""

from collections.abc import Iterable

from mesh.errors import RemoteError
from mesh.wire.envelope import Envelope
from mesh.wire.properties import decode_properties

NEVER = 0


def expiry(envelope: Envelope, i: int) -> int:
    """When message `i` is void, in ns since 1970; NEVER also where its properties cannot be read."""
    properties, _ = envelope.message(i)
    try:
        return decode_properties(properties).expires
    except RemoteError:  # nobody on its way has read them before; its receiver will say so
        return NEVER


def unexpired(envelope: Envelope, indices: Iterable[int], wall: int) -> tuple[int, ...]:
    """The messages, of these, that are not void at `wall` (ns since 1970)."""
    if not NEVER < envelope.expires <= wall:  # the earliest of all
        return tuple(indices)
    return tuple([i for i in indices if not NEVER < expiry(envelope, i) <= wall])


def all_void(envelope: Envelope, limit: int = NEVER) -> int:
    """When the last message is void, in ns since 1970, or NEVER. `limit`: by then all are, unless NEVER."""
    if not envelope.expires:  # of none
        return limit
    if envelope.count == 1:
        return _earlier(envelope.expires, limit)
    times = [_earlier(expiry(envelope, i), limit) for i in range(envelope.count)]
    return max(times) if NEVER not in times else NEVER


def _earlier(one: int, other: int) -> int:
    return min(one, other) if one and other else one or other
