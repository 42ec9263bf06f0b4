"""Creates and connects the components for addresses and groups."""

from __future__ import annotations

from mesh.features.services.node.groups import Groups
from mesh.features.services.node.incoming import IncomingSends
from mesh.features.services.node.listing import Listing
from mesh.features.services.node.request_batch import RequestBatch
from mesh.features.services.node.sending import Sending
from mesh.features.services.node.serving import ServedAddresses
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts


class ServiceParts(FeatureParts):
    """The components that forward requests and serve addresses."""

    def __init__(self, k: Parts) -> None:
        context, n, balancing = k.context, k.neighbours, k.balancing
        departing = RequestBatch(context, n.peers)
        self.serving = ServedAddresses(context, k.presence, k.members, k.back)
        groups = Groups(context, k.router, n, k.members, self.serving, departing, balancing)
        self.sending = Sending(
            context,
            n.named,
            n.peers,
            k.sessions,
            k.presence,
            self.serving,
            k.back,
            balancing,
            departing,
            groups,
        )
        self.figures = self.sending.figured
        super().__init__(
            self.serving,
            IncomingSends(context, self.serving, k.back, k.sender_check),
            groups,
            self.sending,
            Listing(context, n, k.nodes, k.questions, balancing, k.presence, self.serving),
        )
