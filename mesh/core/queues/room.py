"""All that a node has for queues: made, and joined."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Disk
from mesh.core.desk.part import Part
from mesh.core.forwarding.deadletters import DeadLetters
from mesh.core.forwarding.forwarder import Forwarder
from mesh.core.queues.asked import Asked
from mesh.core.queues.declaring import Declaring
from mesh.core.queues.dying import Dying
from mesh.core.queues.queues import Queues
from mesh.core.queues.rows import Rows
from mesh.core.queues.taking import Taking
from mesh.core.rules.shared import Shared
from mesh.core.subscribers.sessions import Sessions
from mesh.routing.shelf import Shelf


class QueueRoom:
    """The parts of this room."""

    def __init__(
        self,
        desk: Desk,
        disk: Disk,
        shelf: Shelf,
        shared: Shared,
        sessions: Sessions,
        dead: DeadLetters,
        forwarder: Forwarder,
    ) -> None:
        rows = Rows(disk, shelf)
        dying = Dying(desk, rows, dead, forwarder.publish, sessions.others)
        taking = self.taking = Taking(desk, disk, rows)
        queues = self.queues = Queues(
            desk,
            rows,
            dying,
            taking.push,
            lambda name: self.declaring.near(name),
            lambda name: self.declaring.was_removed(name),
        )
        taking.queues, queues.removed = queues, taking.removed
        self.declaring = Declaring(desk, disk, shared, queues.declared)
        self.parts: Sequence[Part] = (
            queues,
            self.declaring,
            taking,
            Asked(desk, disk, queues, self.declaring),
        )
