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
