"""The nodes where messages of a queue may be, and to which they can move."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mesh.features.queues.model.moves.distribution import NodeUuid, one_of
from mesh.features.queues.model.moves.queue_report import Matching, QueueReport, matching_here
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.moves.stocks import Stocks
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.routes.nodes import Nodes


class Places:
    """The nodes where messages of each queue may be, by its terms and the reachable nodes."""

    def __init__(self, context: NodeContext, nodes: Nodes, queues: Queues, stocks: Stocks) -> None:
        self._context = context
        self._nodes = nodes
        self._queues = queues
        self._stocks = stocks

    def concerns(self, queue: QueueSink) -> bool:
        """Return whether other nodes may have parts of the queue."""
        return self._stocks.has_peers and queue.part.terms.scope == "mesh"

    def stays(self, queue: QueueSink) -> bool:
        """Return whether all new messages certainly stay here."""
        terms = queue.part.terms
        if self._queues.schedule.is_leaving or terms.nodes or terms.distribution in ("strict", "round_robin"):
            return False
        return terms.distribution == "independent" or taken_here(queue).takes_all

    def may_go(self, queue: QueueSink) -> bool:
        """Return whether undistributed messages may have another node as their target."""
        is_strict = queue.part.terms.distribution == "strict"
        return is_strict or self.is_guest(queue) or bool(self.others(queue))

    def others(self, queue: QueueSink) -> Mapping[NodeUuid, QueueReport]:
        """Return the reported state of the queue at other nodes; see `Stocks.others`."""
        return self._stocks.others(queue.name)

    def meant(self, queue: QueueSink) -> Mapping[NodeUuid, QueueReport]:
        """Return the reported state of the queue at nodes where its messages may stay."""
        others, nodes = self.others(queue), queue.part.terms.nodes
        if not nodes:
            return others
        return {node: stock for node, stock in others.items() if self._stocks.name_of(node) in nodes}

    def homes(self, queue: QueueSink, closed: Collection[NodeUuid]) -> Collection[NodeUuid] | None:
        """Return the nodes where messages may stay now, or `None` for all nodes with consumers.

        This node is included unless messages may not stay here. While this node is drained, one other node is
        returned, or none.
        """
        terms, is_leaving = queue.part.terms, self._queues.schedule.is_leaving
        if not terms.nodes and terms.distribution != "strict" and not is_leaving:
            return None
        homes = [] if self.is_guest(queue) else [self._context.me.uuid]
        not_there = {*closed, *(node for node, each in self.others(queue).items() if each.is_leaving)}
        for peer in self._nodes.usable():
            uuid = peer.node.uuid
            is_meant = not terms.nodes or peer.node.name in terms.nodes
            if is_meant and uuid not in not_there and self._stocks.can_move(uuid):
                homes.append(uuid)
        return one_of(queue.name, homes) if is_leaving and homes else homes

    def is_guest(self, queue: QueueSink) -> bool:
        """Return whether messages of the queue may not stay here."""
        nodes = queue.part.terms.nodes
        return self._queues.schedule.is_leaving or (bool(nodes) and self._context.me.name not in nodes)


def taken_here(queue: QueueSink) -> Matching:
    """Return which messages the connected consumers at this node accept."""
    return matching_here(queue.part.consumers.eligible())


def room_here(queue: QueueSink) -> int:
    """Return how many more messages the consumers here without a selector can receive now."""
    return sum(taker.room for taker in queue.part.consumers.eligible() if taker.selector is None)
