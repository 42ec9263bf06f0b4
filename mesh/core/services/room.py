"""Creates and connects the components for addresses and groups."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.core.context.component import Component
from mesh.core.context.node_context import NodeContext
from mesh.core.delivery.router import Router
from mesh.core.peers.neighbours import Neighbours
from mesh.core.presence.audience import Audience
from mesh.core.presence.members import GroupMembers
from mesh.core.presence.presence import Presence
from mesh.core.routes.nodes import Nodes
from mesh.core.routes.unresponsive_peers import UnresponsivePeers
from mesh.core.services.groups import Groups
from mesh.core.services.incoming import IncomingSends
from mesh.core.services.reply_batch import ReplyBatch
from mesh.core.services.request_batch import RequestBatch
from mesh.core.services.sending import Sending
from mesh.core.services.serving import ServedAddresses
from mesh.core.services.strategies import NodeStrategies
from mesh.core.subscribers.sender_check import SenderCheck
from mesh.core.subscribers.sessions import Sessions


class Services:
    """The components of this package and of presence, lower ones first."""

    def __init__(
        self,
        desk: NodeContext,
        neighbours: Neighbours,
        nodes: Nodes,
        slow: UnresponsivePeers,
        sessions: Sessions,
        router: Router,
        strategies: NodeStrategies,
        sender_check: SenderCheck,
    ) -> None:
        peers, named = neighbours.peers, neighbours.named
        back = self.back = ReplyBatch(desk, peers.get)
        departing = RequestBatch(desk, peers)
        audience = Audience(nodes, slow)
        self.presence = Presence(desk, neighbours, nodes, audience)
        self.members = GroupMembers(desk, neighbours, nodes, audience)
        self.serving = ServedAddresses(desk, self.presence, self.members, back)
        groups = Groups(desk, router, neighbours, self.members, self.serving, departing, strategies)
        self.sending = Sending(
            desk, named, peers, sessions, self.presence, self.serving, back, strategies, departing, groups
        )
        self.figures = self.sending.figured
        self.parts: Sequence[Component] = (
            self.presence,
            self.members,
            self.serving,
            IncomingSends(desk, self.serving, back, sender_check),
            groups,
            self.sending,
        )
