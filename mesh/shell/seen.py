"""What a node tells of itself to those who watch it from outside."""

from typing import Any

from mesh.core.node import NodeCore
from mesh.metrics.families import ASKS
from mesh.wire.replies import Info, QueueRow

Seen = tuple[Info, list[QueueRow], str]  # who it is, some of its queues, and why it does not serve, or ""
NOT_YET = "it asks the others whether its store is the newest"


def seen(core: NodeCore, now: float, wall: int) -> Seen:
    """As it is now."""
    told: list[Any] = []
    for ask in ASKS:
        core.ask(ask, told.append, now, wall)
    info, queues = told
    return info, queues.queues, "" if core.parts.desk.serves else NOT_YET
