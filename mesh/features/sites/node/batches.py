"""Splits envelopes and answers for another site into messages, and sends them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mesh.features.sites.wire import Relay, Relayed
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.wire.commands import Outcome
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPES_A_MESSAGE, FRAMES

OUTCOMES = 256  # answers in one message
MOST_DROPPED = 2**32 - 1  # largest count that one message reports


def batches(envelopes: Iterable[Envelope]) -> Iterator[list[Envelope]]:
    """Yield the envelopes, in order, in batches for one message each.

    A batch exceeds the limit of bytes, or of frames, by at most its last envelope.
    """
    batch: list[Envelope] = []
    size = frames = 0
    for envelope in envelopes:
        needs = 1 + body_frames(envelope)
        is_full = len(batch) >= ENVELOPES_A_MESSAGE or size >= ENVELOPE_BYTES or frames + needs >= FRAMES
        if batch and is_full:
            yield batch
            batch, size, frames = [], 0, 0
        batch.append(envelope)
        size, frames = size + len(envelope.body), frames + needs
    if batch:
        yield batch


def say_relay(
    context: NodeContext, conn: Conn | None, site: str, envelopes: Iterable[Envelope], dropped: int = 0
) -> None:
    """Send the envelopes toward the site, with the number of messages dropped before them.

    The first message reports `dropped`, at most 2**32 - 1. Without envelopes nothing is sent, and `dropped`
    is not reported.
    """
    for batch in batches(envelopes):
        context.out.send(conn, Relay(site, tuple(map(body_frames, batch)), min(dropped, MOST_DROPPED)), batch)
        dropped = 0


def say_relayed(context: NodeContext, conn: Conn | None, site: str, outcomes: list[Outcome]) -> None:
    """Send `outcomes`, the answers of `site`, in as few messages as possible."""
    for at in range(0, len(outcomes), OUTCOMES):
        context.out.send(conn, Relayed(site, tuple(outcomes[at : at + OUTCOMES])))
