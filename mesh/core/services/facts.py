"""Facts about messages that were sent to addresses."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.context.facts import Fact


@dataclass(frozen=True, slots=True)
class RequestAnswered(Fact):
    """Answers or replies for senders at this node, or at another site, wait in `ReplyBatch.here`."""
