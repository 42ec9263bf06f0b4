"""The components of a node that handle queues, created and connected."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.core.context.component import Component
from mesh.core.context.disks import Disks
from mesh.core.context.node_context import NodeContext
from mesh.core.delivery.durable_bindings import DurableBindings
from mesh.core.forwarding.deadletters import DeadLetters
from mesh.core.forwarding.forwarder import Forwarder
from mesh.core.peers.neighbours import Neighbours
from mesh.core.presence.presence import Presence
from mesh.core.queues.definitions.declaring import Declaring
from mesh.core.queues.definitions.durables import Durables
from mesh.core.queues.keeping.dying import Dying
from mesh.core.queues.keeping.here import QueueHere
from mesh.core.queues.keeping.queues import Queues
from mesh.core.queues.keeping.rows import RowsOf
from mesh.core.queues.keeping.taking import Taking
from mesh.core.queues.looking.everywhere import Everywhere
from mesh.core.queues.looking.lastknown import LastKnown
from mesh.core.queues.looking.looking import Looking
from mesh.core.queues.moves.balancing import QueueBalancing
from mesh.core.queues.moves.byhand import ByHand
from mesh.core.queues.moves.draining import Draining
from mesh.core.queues.moves.stocks import Stocks
from mesh.core.queues.transfers.arriving import Arriving
from mesh.core.queues.transfers.moving import Moving
from mesh.core.queues.verbs.asked import ChangingVerbs
from mesh.core.queues.verbs.durableverbs import DurableVerbs, FindAcceptors
from mesh.core.routes.nodes import Nodes
from mesh.core.routes.peer_calls import PeerCalls
from mesh.core.rules.shared import Shared
from mesh.core.subscribers.sessions import Sessions
from mesh.queues.takers.taker import QueueTaker
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.memory import Memory


class QueueRoom:
    """The components of this package; it also connects them for `Queues`."""

    def __init__(  # noqa: PLR0913
        self,
        desk: NodeContext,
        disks: Disks,
        memory: Memory,
        shared: Shared,
        sessions: Sessions,
        dead: DeadLetters,
        forwarder: Forwarder,
        presence: Presence,
        neighbours: Neighbours,
        nodes: Nodes,
        questions: PeerCalls,
        bindings: DurableBindings,
        accepting: FindAcceptors,
    ) -> None:
        dying = Dying(desk, dead, forwarder.publish, sessions.others)
        queues = self.queues = Queues(
            desk, RowsOf(disks), memory, dying, self, neighbours.peers, forwarder.put
        )
        taking = self.taking = Taking(desk, queues)
        moving = self.moving = Moving(desk, neighbours.peers, queues)
        arriving = self.arriving = Arriving(desk, queues)
        stocks = self.stocks = Stocks(desk, presence, queues, neighbours.peers, moving.can_take)
        balancing = self.balancing = QueueBalancing(desk, presence, nodes, queues, stocks, moving)
        last_known = LastKnown(desk, nodes, neighbours.peers, neighbours.acquaintances)
        everywhere = Everywhere(nodes, questions, neighbours.peers, last_known)
        self.declaring = Declaring(desk, disks.own, shared, queues.declared)
        self.durables = Durables(desk, shared, queues, bindings)
        asked = ChangingVerbs(desk, disks.own, queues, self.declaring, everywhere)
        self.parts: Sequence[Component] = (
            queues,
            self.declaring,
            self.durables,
            taking,
            stocks,
            balancing,
            last_known,
            asked,
            DurableVerbs(desk, shared, nodes, accepting, self.durables, queues, asked, last_known),
            Looking(desk, queues, everywhere, balancing),
            moving,
            arriving,
            ByHand(desk, nodes, neighbours, queues, moving),
            Draining(desk, disks.own, nodes, queues, stocks, balancing, moving, asked.when_written),
        )

    # --- what it does for queues: see Around --------------------------------------------------------------

    def push(self, taker: QueueTaker, portion: EnvelopeSlice) -> None:
        self.taking.push(taker, portion)

    def near(self, name: str) -> str:
        return self.declaring.near(name)

    def was_removed(self, name: str) -> bool:
        return self.declaring.was_removed(name) or self.durables.was_removed(name)

    def removed(self, queue: QueueHere) -> None:
        self.taking.removed(queue)
        self.stocks.removed(queue)
        self.balancing.removed(queue)

    def ended(self, queue: QueueHere) -> None:
        self.moving.removed(queue)
        self.arriving.removed(queue)

    def redeemed(self, queue: QueueHere) -> None:
        self.arriving.redeemed(queue)

    def put(self, queue: QueueHere) -> None:
        self.balancing.put(queue)

    def seen_to(self, queue: QueueHere) -> None:
        self.stocks.changed(queue)
        self.balancing.changed(queue)

    def stays(self, queue: QueueHere) -> bool:
        return self.balancing.stays(queue)
