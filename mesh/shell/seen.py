"""The state of a node for external monitoring."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mesh.kernel.node import NodeCore
from mesh.metrics.families import ASKS
from mesh.wire.replies import FaredRow, Info, QueueRow

NOT_YET = "the node asks others whether its store is the newest"


class SeenNode(NamedTuple):
    """The state of a node: its info, some queues, and requests of some addresses.

    `why` is the reason why the node does not serve, or "".
    """

    info: Info
    queues: Sequence[QueueRow] = ()
    addresses: Sequence[FaredRow] = ()
    why: str = ""


def seen(core: NodeCore, now: float, wall: int) -> SeenNode:
    told: list[Any] = []
    for ask in ASKS:
        core.answer_process(ask, told.append, now, wall)
    info, queues, fared = told
    return SeenNode(info, queues.queues, fared.addresses, "" if core.parts.context.serves else NOT_YET)
