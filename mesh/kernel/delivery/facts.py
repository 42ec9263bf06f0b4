"""Facts about envelopes at their master."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mesh.kernel.context.facts import Trace
from mesh.routing.sink import Targets
from mesh.wire.envelope import Envelope


@dataclass(frozen=True, slots=True)
class EnvelopeAccepted(Trace):
    """This node accepted an envelope as its master, split into `pieces` with their targets."""

    pieces: Sequence[tuple[Envelope, Targets]]


@dataclass(frozen=True, slots=True)
class BoundAgain(Trace):
    """An accepted envelope is added again to the queues of durable subscriptions."""

    envelope: Envelope
