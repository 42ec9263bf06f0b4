"""Creates and connects the components of a node that handle queues."""

from __future__ import annotations

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.node.definitions.declaring import Declaring
from mesh.features.queues.node.definitions.durables import Durables
from mesh.features.queues.node.keeping.claimed_deliveries import ClaimedDeliveries
from mesh.features.queues.node.keeping.consumer_table import ConsumerTable
from mesh.features.queues.node.keeping.dead_lettering import DeadLettering
from mesh.features.queues.node.keeping.held_deliveries import HeldDeliveries
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.keeping.remote_claims import RemoteClaims
from mesh.features.queues.node.keeping.rows import RowsOf
from mesh.features.queues.node.looking.lastknown import LastKnown
from mesh.features.queues.node.looking.looking import Looking
from mesh.features.queues.node.looking.queue_part_calls import QueuePartCalls
from mesh.features.queues.node.moves.balancing import QueueBalancing
from mesh.features.queues.node.moves.draining import Draining
from mesh.features.queues.node.moves.manual_moves import ManualMoves
from mesh.features.queues.node.moves.stocks import Stocks
from mesh.features.queues.node.transfers.arriving import Arriving
from mesh.features.queues.node.transfers.moving import Moving
from mesh.features.queues.node.verbs.asked import ChangingVerbs
from mesh.features.queues.node.verbs.durableverbs import DurableVerbs
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts
from mesh.routing.envelope_slice import EnvelopeSlice


class QueueParts(FeatureParts):
    """The components for queues and durable subscriptions, and the services that they provide to `Queues`."""

    def __init__(self, k: Parts) -> None:
        context, disks, shared, nodes, neighbours = k.context, k.disks, k.shared, k.nodes, k.neighbours
        presence, forwarder, questions = k.presence, k.forwarder, k.questions
        dying = DeadLettering(context, k.dead, forwarder.publish, k.sessions.others)
        queues = self.queues = Queues(
            context, RowsOf(context, disks), k.memory, dying, self, neighbours.peers, forwarder.put_in_queue
        )
        claims = RemoteClaims(context, k.relayed_calls)
        taking = self.taking = ConsumerTable(context, queues, claims, neighbours.peers)
        held = self.held = HeldDeliveries(context, queues, taking)
        moving = self.moving = Moving(context, neighbours.peers, queues)
        arriving = self.arriving = Arriving(context, queues)
        stocks = self.stocks = Stocks(context, presence, queues, neighbours.peers, moving.can_take)
        balancing = self.balancing = QueueBalancing(context, presence, nodes, queues, stocks, moving)
        last_known = LastKnown(context, nodes, neighbours.peers, neighbours.acquaintances)
        everywhere = QueuePartCalls(nodes, questions, neighbours.peers, last_known)
        self.declaring = Declaring(context, disks.own, shared, queues.declared)
        self.durables = Durables(context, shared, queues, k.router.bindings)
        asked = ChangingVerbs(context, disks.own, queues, self.declaring, everywhere)
        super().__init__(
            queues,
            self.declaring,
            self.durables,
            taking,
            claims,
            ClaimedDeliveries(context, queues, neighbours.peers, k.relayed_calls, held.is_landing),
            held,
            stocks,
            balancing,
            last_known,
            asked,
            DurableVerbs(
                context, shared, nodes, k.mapping.accepting, self.durables, queues, asked, last_known
            ),
            Looking(context, queues, everywhere, balancing),
            moving,
            arriving,
            ManualMoves(context, nodes, neighbours, queues, moving),
            Draining(context, disks.own, nodes, queues, stocks, balancing, moving, asked.when_written),
        )

    # --- services for `Queues`: see QueueRoomFace ---------------------------------------------------------

    def push(self, taker: QueueConsumer, slice_: EnvelopeSlice) -> None:
        self.taking.push(taker, slice_)

    def similar_name(self, name: str) -> str:
        return self.declaring.similar_name(name)

    def was_removed(self, name: str) -> bool:
        return self.declaring.was_removed(name) or self.durables.was_removed(name)

    def on_queue_removed(self, queue: QueueSink) -> None:
        self.taking.on_queue_removed(queue)
        self.stocks.on_queue_removed(queue)
        self.balancing.on_queue_removed(queue)

    def on_queue_ended(self, queue: QueueSink) -> None:
        self.moving.on_queue_removed(queue)
        self.arriving.on_queue_removed(queue)

    def redeemed(self, queue: QueueSink) -> None:
        self.arriving.redeemed(queue)

    def distribute_new(self, queue: QueueSink) -> None:
        self.balancing.distribute_new(queue)

    def seen_to(self, queue: QueueSink) -> None:
        self.stocks.report_change(queue)
        self.balancing.schedule_scan(queue)

    def stays(self, queue: QueueSink) -> bool:
        return self.balancing.stays(queue)
