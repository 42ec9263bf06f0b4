"""Facts about messages that were sent to addresses."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.context.facts import Fact


@dataclass(frozen=True, slots=True)
class RequestAnswered(Fact):
    """The outcome of a message from a client here to an address here is known."""
