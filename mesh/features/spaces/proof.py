"""The text that a client signs for a write to a space."""

from __future__ import annotations

from mesh.wire.calls import AskSpaceWrite
from mesh.wire.codec import pack


def write_text(ask: AskSpaceWrite) -> bytes:
    """Return the text to sign: all of a write that its outcome depends on."""
    fields = [ask.space, ask.op, ask.key, ask.content, ask.props, ask.version, ask.ttl, ask.amount]
    return b"heronry write\0" + pack([*fields, ask.number, ask.low, ask.writer])
