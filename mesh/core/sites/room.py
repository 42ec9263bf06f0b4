"""Creates and connects the components for other sites."""

from __future__ import annotations

from mesh.core.feature import FeatureParts
from mesh.core.parts import Parts
from mesh.core.sites.answering import Answering
from mesh.core.sites.gateway import Gateways
from mesh.core.sites.gateway_relay import GatewayRelay
from mesh.core.sites.gateway_routes import GatewayRoutes
from mesh.core.sites.indirect_sites import IndirectSites
from mesh.core.sites.listing import Sites
from mesh.core.sites.pausing import Pausing
from mesh.core.sites.remote_sessions import RemoteSessions
from mesh.core.sites.requests import SiteRequests
from mesh.core.sites.site_conflicts import SiteConflicts
from mesh.core.sites.site_direct_messages import SiteDirectMessages
from mesh.core.sites.site_ingress import SiteIngress
from mesh.core.sites.site_pass_through import SitePassThrough
from mesh.core.sites.site_relay import SiteRelay
from mesh.core.sites.transfer_marks import TransferMarks
from mesh.core.sites.transferring import Transferring
from mesh.remote_names import way_to


class SiteParts(FeatureParts):
    """The components that relay messages to other sites and accept messages from them."""

    def __init__(self, k: Parts) -> None:
        desk, disk, n, router, presence = k.desk, k.disk, k.neighbours, k.router, k.presence
        gateways = self.gateways = Gateways(
            desk, k.dialler, lambda: [peer.node.name for peer in n.alive()], presence
        )
        answering = self.answering = Answering(desk, gateways)
        transit = self.transit = GatewayRelay(desk, gateways, presence, n)
        pausing = Pausing(desk, disk, k.shared)
        marking = TransferMarks(desk, disk)
        relaying = self.relaying = SiteRelay(
            desk,
            disk,
            router,
            n,
            presence,
            transit,
            k.dead,
            k.settling.on_released,
            k.paging,
            pausing.is_paused,
            marking,
        )
        transferring = Transferring(
            desk, k.log.retained, relaying, marking, k.nodes, k.questions, pausing.is_paused
        )
        conflicting = self.conflicting = SiteConflicts(desk, router, relaying, marking, transit)
        sites = Sites(
            desk,
            k.nodes,
            k.questions,
            gateways,
            lambda site: (relaying.depth(site), k.forwarder.tailback.depth(way_to(site))),
            pausing.is_paused,
            marking.dropped_count,
        )
        through = self.through = SitePassThrough(desk, transit, presence, n, answering, pausing.why_paused)
        beyond = IndirectSites(desk, gateways, transit, n, k.questions, pausing.is_paused)
        entering = self.entering = SiteIngress(desk, k.forwarder, answering, through)
        exits = GatewayRoutes(desk, n, presence, transit)
        letters = self.letters = SiteDirectMessages(desk, k.forwarder, n, transit, exits, pausing.why_paused)
        requests = self.requests = SiteRequests(desk, gateways, transit, exits, k.back, pausing.why_paused)
        super().__init__(
            gateways,
            sites,
            transit,
            pausing,
            marking,
            relaying,
            transferring,
            through,
            beyond,
            entering,
            conflicting,
            exits,
            letters,
            requests,
            RemoteSessions(desk, gateways, answering.aliases),
        )
