"""The text that a client signs for an addition to a tally."""

from __future__ import annotations

from mesh.wire.calls import AskTallyAdd
from mesh.wire.codec import pack


def add_text(ask: AskTallyAdd) -> bytes:
    """Return the text to sign: all of an addition."""
    fields = [ask.tally, ask.node, ask.amount, ask.number, ask.low, ask.writer]
    return b"heronry tally\0" + pack(fields)
