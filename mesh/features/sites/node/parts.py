"""Creates and connects the components for other sites."""

from __future__ import annotations

from mesh.features.sites.node.answering import Answering
from mesh.features.sites.node.client_locator import ClientLocator
from mesh.features.sites.node.gateway import Gateways
from mesh.features.sites.node.gateway_notes import GatewayNotes
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.features.sites.node.gateway_routes import GatewayRoutes
from mesh.features.sites.node.indirect_sites import IndirectSites
from mesh.features.sites.node.listing import Sites
from mesh.features.sites.node.outbound_sites import OutboundSites
from mesh.features.sites.node.pausing import Pausing
from mesh.features.sites.node.remote_sessions import RemoteSessions
from mesh.features.sites.node.requests import SiteRequests
from mesh.features.sites.node.site_conflicts import SiteConflicts
from mesh.features.sites.node.site_direct_messages import SiteDirectMessages
from mesh.features.sites.node.site_ingress import SiteIngress
from mesh.features.sites.node.site_pass_through import SitePassThrough
from mesh.features.sites.node.site_relay import SiteRelay
from mesh.features.sites.node.site_sender import SiteSender
from mesh.features.sites.node.site_sinks import SiteSinks
from mesh.features.sites.node.transfer_marks import TransferMarks
from mesh.features.sites.node.transferring import Transferring
from mesh.features.sites.node.view_events import ViewEvents
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts
from mesh.remote_names import way_to


class SiteParts(FeatureParts):
    """The components that relay messages to other sites and accept messages from them."""

    def __init__(self, k: Parts) -> None:
        context, disk, n, router, presence = k.context, k.disk, k.neighbours, k.router, k.presence

        def alive() -> list[str]:
            return [peer.node.name for peer in n.living_peers()]

        gateways = self.gateways = Gateways(context, k.dialler, alive, presence)
        answering = self.answering = Answering(context, gateways)
        transit = self.transit = GatewayRelay(context, gateways, presence, n)
        pausing = Pausing(context, disk, k.shared)
        marking = TransferMarks(context, disk)
        notes = GatewayNotes(context, transit)
        outbound = self.outbound = OutboundSites(disk, marking)
        sinks = SiteSinks(context, outbound)
        sender = self.sender = SiteSender(
            context, n, transit, notes, k.dead, pausing.is_paused, marking, outbound
        )
        relaying = self.relaying = SiteRelay(
            context, router, notes, k.settling.on_released, k.paging, marking, outbound, sinks, sender
        )
        transferring = Transferring(
            context, k.log.retained, relaying, sinks, marking, k.nodes, k.questions, pausing.is_paused
        )
        conflicting = self.conflicting = SiteConflicts(context, router, sinks, marking, transit)
        sites = Sites(
            context,
            k.nodes,
            k.questions,
            gateways,
            lambda site: (relaying.depth(site), k.forwarder.tailback.depth(way_to(site))),
            pausing.is_paused,
            marking.dropped_count,
        )
        locator = ClientLocator(context, k.client_finder.find_sessions)
        through = self.through = SitePassThrough(context, transit, notes, n, answering, pausing.why_paused)
        beyond = IndirectSites(context, gateways, transit, n, k.questions, pausing.is_paused)
        entering = self.entering = SiteIngress(context, k.forwarder, answering, through, locator)
        exits = GatewayRoutes(context, n, presence, transit, notes)
        letters = self.letters = SiteDirectMessages(
            context, k.forwarder, n, transit, exits, pausing.why_paused
        )
        requests = self.requests = SiteRequests(context, gateways, transit, exits, k.back, pausing.why_paused)
        super().__init__(
            gateways,
            sites,
            transit,
            notes,
            pausing,
            marking,
            sinks,
            sender,
            relaying,
            transferring,
            through,
            beyond,
            entering,
            conflicting,
            exits,
            letters,
            requests,
            RemoteSessions(context, gateways, answering.aliases),
            ViewEvents(context, gateways, alive),
        )
