"""Facts about the consumers of queues at this node."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.kernel.context.facts import Trace
from mesh.kernel.subscribers.session import Session
from mesh.wire.commands import Consume


@dataclass(frozen=True, slots=True)
class Consumes(Trace):
    """A session starts or stops consuming from a queue."""

    session: Session
    command: Consume
