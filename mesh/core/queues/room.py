"""All that a node has for queues: made, and joined."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.core.desk.desk import Desk
from mesh.core.desk.disks import Disks
from mesh.core.desk.part import Part
from mesh.core.forwarding.deadletters import DeadLetters
from mesh.core.forwarding.forwarder import Forwarder
from mesh.core.peers.neighbours import Neighbours
from mesh.core.queues.arriving import Arriving
from mesh.core.queues.asked import Asked
from mesh.core.queues.byhand import ByHand
from mesh.core.queues.declaring import Declaring
from mesh.core.queues.dying import Dying
from mesh.core.queues.here import QueueHere
from mesh.core.queues.moving import Moving
from mesh.core.queues.queues import Queues
from mesh.core.queues.rows import RowsOf
from mesh.core.queues.taking import Taking
from mesh.core.rules.shared import Shared
from mesh.core.subscribers.sessions import Sessions
from mesh.core.ways.nodes import Nodes
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
        neighbours: Neighbours,
        nodes: Nodes,
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
        moving = self.moving = Moving(desk, neighbours.peers, queues)
        arriving = Arriving(desk, queues)

        def ended(queue: QueueHere) -> None:
            moving.removed(queue)
            arriving.removed(queue)

        queues.ended, queues.redeemed = ended, arriving.redeemed
        self.declaring = Declaring(desk, disks.own, shared, queues.declared)
        self.parts: Sequence[Part] = (
            queues,
            self.declaring,
            taking,
            Asked(desk, disks.own, queues, self.declaring),
            moving,
            arriving,
            ByHand(desk, nodes, neighbours, queues, moving),
        )
