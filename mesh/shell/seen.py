"""What a node tells of itself to those who watch it from outside."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mesh.core.node import NodeCore
from mesh.metrics.families import ASKS
from mesh.wire.replies import FaredRow, Info, QueueRow

NOT_YET = "it asks the others whether its store is the newest"


class SeenNode(NamedTuple):
    """A node: who it is, some of its queues, how some addresses fare; and `why` it does not serve."""

    info: Info
    queues: Sequence[QueueRow] = ()
    addresses: Sequence[FaredRow] = ()
    why: str = ""


def seen(core: NodeCore, now: float, wall: int) -> SeenNode:
    """As it is now."""
    told: list[Any] = []
    for ask in ASKS:
        core.ask(ask, told.append, now, wall)
    info, queues, fared = told
    return SeenNode(info, queues.queues, fared.addresses, "" if core.parts.desk.serves else NOT_YET)
