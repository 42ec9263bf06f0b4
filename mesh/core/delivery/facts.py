"""What becomes of envelopes at their master."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mesh.core.desk.facts import Trace
from mesh.routing.taker import Targets
from mesh.wire.envelope import Envelope


@dataclass(frozen=True, slots=True)
class Mastered(Trace):
    """This node has taken an envelope as its master: in these pieces, each for those targets."""

    pieces: Sequence[tuple[Envelope, Targets]]


@dataclass(frozen=True, slots=True)
class BoundAgain(Trace):
    """An envelope that was accepted before is to be in the queues of durable subscriptions once more."""

    envelope: Envelope
