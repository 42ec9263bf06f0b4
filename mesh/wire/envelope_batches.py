"""Batches of envelopes with time limits, each batch for one message."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.wire.commands import Sends
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPES_A_MESSAGE, FRAMES

TimedEnvelopes = list[tuple[Envelope, int]]  # with the remaining ms of each


def batches(envelopes: TimedEnvelopes) -> Iterator[TimedEnvelopes]:
    """Yield the envelopes, in order, in batches for one message each.

    A batch stays within the limits of envelopes and frames, and exceeds the limit of bytes by at most its
    last envelope.
    """
    batch: TimedEnvelopes = []
    size = frames = 0
    for pair in envelopes:
        needs = 1 + body_frames(pair[0])
        is_full = len(batch) >= ENVELOPES_A_MESSAGE or size >= ENVELOPE_BYTES or frames + needs >= FRAMES
        if batch and is_full:
            yield batch
            batch, size, frames = [], 0, 0
        batch.append(pair)
        size, frames = size + len(pair[0].body), frames + needs
    if batch:
        yield batch


def sends(batch: TimedEnvelopes) -> Sends:
    """Return the command that carries the envelopes of `batch` to a node or a gateway of another site."""
    ttls = tuple(ttl for _, ttl in batch)
    return Sends(tuple(body_frames(envelope) for envelope, _ in batch), ttls if any(ttls) else ())
