"""The rows of held locks, which are values of their space: the token is the version."""

from __future__ import annotations

from mesh.errors import RemoteError
from mesh.features.spaces.model.locks import Change, Claim, Request
from mesh.features.spaces.model.space import Kind, Value, Write
from mesh.values import Headers
from mesh.wire.properties import Properties, decode_properties, encode_properties

MAX_LEASE = 60.0  # s

CLIENT, STREAM, NUMBER = "lock-client", "lock-stream", "lock-number"
LEASE, ELECTION = "lock-lease", "lock-election"  # lease in ms; whether it has a value


def write_of(change: Change) -> Write:
    """Return the write that stores a change."""
    is_silent = not change.is_watched
    if (owner := change.owner) is None:
        return Write(Kind.REMOVE, change.name, is_silent=is_silent)
    content, props = owner.value if owner.value is not None else (b"", b"")
    own = decode_properties(props)
    headers = [
        *own.headers.items(),
        (CLIENT, owner.client),
        (STREAM, owner.request.stream.hex()),
        (NUMBER, str(owner.request.number)),
        (LEASE, str(round(owner.lease * 1000))),
        *([(ELECTION, "yes")] if owner.value is not None else []),
    ]
    encoded = encode_properties(Properties(Headers(headers), is_text=own.is_text))
    return Write(Kind.PUT, change.name, content, props=encoded, is_silent=is_silent)


def owner_of(value: Value) -> Claim:
    """Return the owner in a row. A damaged row has an unknown owner with the longest lease."""
    try:
        headers = decode_properties(value.props).headers
        request = Request(bytes.fromhex(headers[STREAM]), int(headers[NUMBER]))
        lease = int(headers[LEASE]) / 1000
        held = (value.content, value.props) if ELECTION in headers else None
        return Claim(request, min(lease, MAX_LEASE), headers[CLIENT], held)
    except (RemoteError, KeyError, ValueError):
        return Claim(Request(b"", 0), MAX_LEASE, "")
