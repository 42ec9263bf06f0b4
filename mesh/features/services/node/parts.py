"""Creates and connects the components for addresses and groups."""

from __future__ import annotations

from mesh.features.services.node.groups import Groups
from mesh.features.services.node.hints import Hints
from mesh.features.services.node.incoming import IncomingSends
from mesh.features.services.node.listing import Listing
from mesh.features.services.node.open_requests import OpenRequests
from mesh.features.services.node.request_batch import RequestBatch
from mesh.features.services.node.request_losses import RequestLosses
from mesh.features.services.node.request_outcomes import RequestOutcomes
from mesh.features.services.node.request_router import RequestRouter
from mesh.features.services.node.requester_replies import RequesterReplies
from mesh.features.services.node.sending import Sending
from mesh.features.services.node.service_stats import ServiceStats
from mesh.features.services.node.serving import ServedAddresses
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts


class ServiceParts(FeatureParts):
    """The components that forward requests and serve addresses."""

    def __init__(self, k: Parts) -> None:
        context, n, presence, balancing = k.context, k.neighbours, k.presence, k.balancing
        departing = self.departing = RequestBatch(context, n.peers)
        serving = self.serving = ServedAddresses(context, presence, k.members, k.back)
        groups = Groups(context, k.router, n, k.members, serving, departing, balancing)
        faring, hints = ServiceStats(context, n.peers), Hints(context, presence)
        self.figures = faring.figures
        waiting = self.open_requests = OpenRequests()
        requester = RequesterReplies(context, k.sessions, hints, faring)
        router = RequestRouter(
            context, n.named, n.peers, presence, serving, balancing, departing, waiting, requester, faring
        )
        outcomes = RequestOutcomes(context, waiting, requester, faring, balancing, hints, router.choose_nodes)
        losses = RequestLosses(context, waiting, outcomes, requester, departing, faring)
        sending = Sending(
            context, k.sessions, k.back, groups, router, waiting, requester, outcomes, losses, faring
        )
        super().__init__(
            serving,
            IncomingSends(context, serving, k.back, k.sender_check),
            groups,
            router,
            sending,
            Listing(context, n, k.nodes, k.questions, balancing, presence, serving),
        )
