"""All that a node has for queues: made, and joined."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.core.desk.desk import Desk
from mesh.core.desk.disks import Disks
from mesh.core.desk.part import Part
from mesh.core.forwarding.deadletters import DeadLetters
from mesh.core.forwarding.forwarder import Forwarder
from mesh.core.queues.asked import Asked
from mesh.core.queues.declaring import Declaring
from mesh.core.queues.dying import Dying
from mesh.core.queues.queues import Queues
from mesh.core.queues.rows import RowsOf
from mesh.core.queues.taking import Taking
from mesh.core.rules.shared import Shared
from mesh.core.subscribers.sessions import Sessions
from mesh.routing.memory import Memory


class QueueRoom:
    """The parts of this room."""

    def __init__(
        self,
        desk: Desk,
        disks: Disks,
        memory: Memory,
        shared: Shared,
        sessions: Sessions,
        dead: DeadLetters,
        forwarder: Forwarder,
    ) -> None:
        dying = Dying(desk, dead, forwarder.publish, sessions.others)
        taking = self.taking = Taking(desk)
        queues = self.queues = Queues(
            desk,
            RowsOf(disks),
            memory,
            dying,
            taking.push,
            lambda name: self.declaring.near(name),
            lambda name: self.declaring.was_removed(name),
            forwarder.put,
        )
        forwarder.holds_back = queues.holds_back
        taking.queues, queues.removed = queues, taking.removed
        self.declaring = Declaring(desk, disks.own, shared, queues.declared)
        self.parts: Sequence[Part] = (
            queues,
            self.declaring,
            taking,
            Asked(desk, disks.own, queues, self.declaring),
        )
