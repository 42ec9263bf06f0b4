"""Who takes from the queues of a node?"""

from __future__ import annotations

from dataclasses import dataclass

from mesh.core.desk.facts import Trace
from mesh.core.subscribers.session import Session
from mesh.wire.commands import Consume


@dataclass(frozen=True, slots=True)
class Consumes(Trace):
    """A session takes from a queue, or takes no more."""

    session: Session
    command: Consume
