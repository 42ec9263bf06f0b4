"""Creates and connects the components of a node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from mesh.balancers.round_robin import RoundRobin
from mesh.core.access.authenticator import SOFTWARE
from mesh.core.admission import Admission
from mesh.core.asking.erasing import Erasing
from mesh.core.asking.interest_sync import InterestSync
from mesh.core.asking.lookup import Lookup
from mesh.core.calls import Verbs
from mesh.core.context.component import Component
from mesh.core.context.disks import Disks
from mesh.core.context.message_fragments import MessageFragments
from mesh.core.context.node_context import NodeContext
from mesh.core.context.settings import Settings
from mesh.core.delivery.router import Router
from mesh.core.explaining import Explaining
from mesh.core.forwarding.deadletters import DeadLetters
from mesh.core.forwarding.dirty_reads import DirtyReads
from mesh.core.forwarding.forwarder import Forwarder
from mesh.core.forwarding.provenance import Provenance
from mesh.core.forwarding.routes import Routes
from mesh.core.peers.census import Censuses
from mesh.core.peers.dialler import Dialler
from mesh.core.peers.duplicate_detector import DuplicateDetector
from mesh.core.peers.exchange import exchange
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer, met
from mesh.core.peers.peer_handshake import PeerHandshake
from mesh.core.queues.definitions.durables import DURABLES
from mesh.core.queues.room import QueueRoom
from mesh.core.reception import Reception
from mesh.core.routes.balancing import Balancing, name_of
from mesh.core.routes.nodes import Nodes
from mesh.core.routes.peer_calls import PeerCalls
from mesh.core.routes.strata import LiveStrata
from mesh.core.routes.trees import Trees
from mesh.core.rules.authors import Authors
from mesh.core.rules.inheriting import Inheriting
from mesh.core.rules.ruling import Ruling
from mesh.core.rules.shared import Shared
from mesh.core.rules.sharedrules import SharedRules
from mesh.core.rules.standby import Standby
from mesh.core.rules.weights import Weights
from mesh.core.services.listing import Listing
from mesh.core.services.room import Services
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
from mesh.core.states.clocks import Clocks
from mesh.core.states.gossiping import Gossiping
from mesh.core.states.nodetopics import NodeTopics
from mesh.core.states.recall import Recall
from mesh.core.states.route_proofs import RouteProofs
from mesh.core.states.state_topic_stream import StateTopicStream
from mesh.core.states.statetopics import StateTopics
from mesh.core.states.ways import OwnWays
from mesh.core.status import Status
from mesh.core.subscribers.client_feeds import ClientFeeds
from mesh.core.subscribers.clients import Clients
from mesh.core.subscribers.consuming import Consuming
from mesh.core.subscribers.copies import Copies
from mesh.core.subscribers.datalink import DataLinks
from mesh.core.subscribers.firstvalues import FirstValues
from mesh.core.subscribers.gap_reports import GapReports
from mesh.core.subscribers.holdings import Holdings
from mesh.core.subscribers.inboxes import Inboxes
from mesh.core.subscribers.item_arrivals import ItemArrivals
from mesh.core.subscribers.lastvalues import LastValues
from mesh.core.subscribers.origins import Origins
from mesh.core.subscribers.peer_subscriptions import PeerSubscriptions
from mesh.core.subscribers.publishing import Publishing
from mesh.core.subscribers.sender_check import SenderCheck
from mesh.core.subscribers.sessions import Sessions
from mesh.core.subscribers.settling import FeedSettling
from mesh.core.subscribers.subscribing import SubscriberFeeds
from mesh.core.telling.recording import QUEUES, Recording
from mesh.links.backoff import Timing
from mesh.mapping.mapping import Mapping
from mesh.remote_names import way_to
from mesh.routing.log import Log
from mesh.routing.memory import Memory
from mesh.routing.merging import Merging
from mesh.routing.paging import Paging
from mesh.sites.accepting import any_brings
from mesh.snapshots.waiting import Waiting
from mesh.wire.envelope import Envelope
from mesh.wire.limits import DIRTY, RULES

Room = Callable[["Parts"], Component]  # makes a component above all others
ROOMS: tuple[Room, ...] = ()  # one entry for each capability


class Parts:
    """The components of a node, each created with the components that it needs."""

    def __init__(
        self,
        settings: Settings,
        ids: Callable[[int], bytes],
        jitter: Callable[[], float],
        rooms: Sequence[Room] = ROOMS,
    ) -> None:
        desk = self.desk = NodeContext(settings, ids, jitter)
        disks = self.disks = Disks(desk)
        disk = self.disk = disks.own
        shelf = disk.shelf
        mapping = self.mapping = Mapping(settings.me.name, settings.rules, settings.scope)

        def keeps_end(key: str, e: Envelope) -> bool:
            sites = desk.settings.accepting.values()
            return mapping.is_kept(key, e) or any_brings(sites, e.domain, key)

        log = Log(settings.topics_bytes, shelf, disks.shelf_of, keeps_end, settings.site)
        memory = Memory(settings.memory_bytes)
        paging = self.paging = Paging(memory, settings.me.uuid, disk.fetch)
        self.piecework = MessageFragments(desk)

        peers: dict[bytes, Peer] = {}
        timing = Timing(low=settings.backoff_min, high=settings.backoff_max)
        merging = Merging(settings.me.name, mapping.masters, mapping.is_backed)
        settling = FeedSettling(shelf, mapping, merging, peers, bool(settings.site))
        dialler = self.dialler = Dialler(desk)
        rivals = self.rivals = DuplicateDetector(desk, dialler)
        n = self.neighbours = Neighbours(
            desk,
            disk,
            dialler,
            peers,
            partial(met, desk, timing, partial(exchange, desk, settling.on_released, paging)),
            rivals.rumoured,
        )
        meeting = self.meeting = PeerHandshake(desk, dialler, n, rivals)
        censuses = self.censuses = Censuses(desk, n)

        boot_of = n.directory.boot_of
        router = self.router = Router(desk, log, disks, boot_of, not mapping.is_plain, merging)
        ways = self.ways = OwnWays(desk)
        questions = self.questions = PeerCalls(desk, n)
        telling = StateTopicStream(desk, router)
        gossiping = self.gossiping = Gossiping(desk, n, censuses, StateTopics(telling), ways, SOFTWARE)
        balancer = settings.balancer or RoundRobin(jitter)
        strategy = name_of(balancer)
        authors = self.authors = Authors(desk, n)
        shared = self.shared = Shared(desk, disk, n, authors, questions, gossiping)
        weights = self.weights = Weights(desk, disk, n, gossiping, shared, strategy)
        balancing = self.balancing = Balancing(desk, balancer, n.named, gossiping.load_of, weights.weight_of)
        nodes = self.nodes = Nodes(desk, n, questions, balancing)
        vouching = self.vouching = RouteProofs(desk, n, gossiping, ways)
        recall = self.recall = Recall(desk, dialler, n, questions, gossiping, shared.learner(RULES, DURABLES))

        provenance = Provenance(desk, vouching)
        demand = self.demand = InterestSync(desk, mapping, n, nodes, questions.slow)
        lookup = Lookup(desk, router, demand, questions, nodes, merging)
        node_topics = NodeTopics(desk, telling, n, mapping)
        erasing = Erasing(desk, router, demand, questions, nodes, provenance.judge)
        sessions = self.sessions = Sessions(desk)
        dead = DeadLetters(desk, disk, router)
        provisional = DirtyReads(desk, router, mapping, lambda feed: sessions.speak(feed, DIRTY))
        forwarder = self.forwarder = Forwarder(
            desk, disk, router, n, nodes, mapping, provenance, dead, sessions.answer_client, provisional
        )
        copies = Copies(desk, mapping, log, disk)
        gaps = GapReports(desk, n, sessions)
        arrivals = ItemArrivals(desk, router, n, mapping, settling, merging, copies, provisional)
        links = self.links = DataLinks(desk, disk, router, n, nodes, demand, forwarder, gaps, arrivals)
        origins = Origins(desk, vouching, mapping, links.solicited.has_grace)
        sender_check = self.sender_check = SenderCheck(desk, n, origins, links.solicited, links.items)
        wanted = self.wanted = PeerSubscriptions(desk, disk, router, n, demand, questions, arrivals.received)
        inboxes = self.inboxes = Inboxes(desk, disk, paging, dead, sessions)
        first = self.first_values = FirstValues(desk, router.joining, demand, questions, lookup)
        subscribing = self.subscribing = SubscriberFeeds(
            desk,
            disk,
            router,
            demand,
            questions,
            first,
            inboxes,
            ClientFeeds(desk, settling, paging),
            arrivals.received,
            sessions,
        )
        publishing = Publishing(desk, sessions, forwarder)
        clients = self.clients = Clients(desk, router, nodes, publishing, subscribing, sessions)
        holdings = Holdings(desk, sessions, clients.cut_off_largest)
        services = self.services = Services(
            desk, n, nodes, questions.slow, sessions, router, balancing, sender_check
        )
        gateways = self.gateways = Gateways(
            desk, dialler, lambda: [peer.node.name for peer in n.alive()], services.presence
        )
        clocks = self.clocks = Clocks(desk, n, gateways.clocks)
        answering = self.answering = Answering(desk, gateways)
        queues = self.queues = QueueRoom(
            desk,
            disks,
            memory,
            shared,
            sessions,
            dead,
            forwarder,
            services.presence,
            n,
            nodes,
            questions,
            router.bindings,
            mapping.accepting,
        )
        strata = self.strata = LiveStrata(desk, mapping, n, nodes)
        trees = Trees(desk, mapping, nodes, questions, strata)
        listing = Listing(desk, n, nodes, questions, balancing, services.presence, services.serving)
        recording = self.recording = Recording(
            desk, n, router.busy, strategy, weights.weight_of, self._queues, services.figures
        )
        transit = self.transit = GatewayRelay(desk, gateways, services.presence, n)
        pausing = Pausing(desk, disk, shared)
        marking = TransferMarks(desk, disk)
        relaying = self.relaying = SiteRelay(
            desk,
            disk,
            router,
            n,
            services.presence,
            transit,
            dead,
            settling.on_released,
            paging,
            pausing.is_paused,
            marking,
        )
        transferring = Transferring(
            desk, log.retained, relaying, marking, nodes, questions, pausing.is_paused
        )
        conflicting = self.conflicting = SiteConflicts(desk, router, relaying, marking, transit)
        sites = Sites(
            desk,
            nodes,
            questions,
            gateways,
            lambda site: (relaying.depth(site), forwarder.tailback.depth(way_to(site))),
            pausing.is_paused,
            marking.dropped_count,
        )
        through = self.through = SitePassThrough(
            desk, transit, services.presence, n, answering, pausing.why_paused
        )
        beyond = IndirectSites(desk, gateways, transit, n, questions, pausing.is_paused)
        entering = self.entering = SiteIngress(desk, forwarder, answering, through)
        exits = GatewayRoutes(desk, n, services.presence, transit)
        letters = self.letters = SiteDirectMessages(desk, forwarder, n, transit, exits, pausing.why_paused)
        requests = self.requests = SiteRequests(
            desk, gateways, transit, exits, services.back, pausing.why_paused
        )
        visitors = RemoteSessions(desk, gateways, answering.aliases, services.sending)
        admission = self.admission = Admission(
            desk, dialler, n, meeting, censuses, recall, clients, links, self.piecework, gateways
        )
        last_values = LastValues(desk, lookup, erasing, forwarder, links)
        ruling = self.ruling = Ruling(desk, mapping, meeting, n, nodes, router, gossiping, demand)
        rules = SharedRules(desk, disk, shared, nodes, gossiping, ruling)
        inheriting = Inheriting(desk, mapping, lookup, erasing, log, disks.own)
        standby = Standby(desk, mapping, nodes, demand, questions, copies)
        routes = Routes(desk, mapping, nodes, questions)
        status = self.status = Status(desk, n, gossiping, forwarder)
        self.reception = Reception(desk, admission, sessions, n, self.piecework, gateways)
        # Lower packages first. Components that repeat questions come behind those that know the nodes to ask.
        desk.face.fill(
            (
                desk.events, disks, n, n.acquaintances, meeting, censuses, router, nodes.whereabouts, ways,
                recall, gossiping, clocks, node_topics, vouching, demand, lookup, forwarder.shipping,
                provisional, forwarder,
                sessions, sender_check, links, wanted,
                inboxes, last_values, routes, first, subscribing, publishing, clients,
                authors, shared,
                weights, ruling, rules, inheriting, standby, strata, trees, recording,
                gateways, sites, admission, status, Consuming(desk), *services.parts, *queues.parts, listing,
                transit, pausing, marking, relaying, transferring, through, beyond, entering, conflicting,
                exits, letters, requests, visitors,
                Verbs(desk, wanted), Explaining(desk, nodes, questions, routes, services.presence, strata),
                self.reception, holdings, questions,
                *(room(self) for room in rooms),
            )
        )  # fmt: skip

    def _queues(self, told: Collection[str]) -> Iterator[Waiting]:
        """Yield the state of the queues, and of the buffers for absent masters, other sites and sessions."""
        yield from self.queues.queues.waiting(told, QUEUES)
        for hop in self.forwarder.onward.hops():
            depth = self.forwarder.tailback.depth(hop)
            yield Waiting(f"tailback/{hop or '?'}", depth.messages, depth.bytes, depth.age)
        for site in self.relaying.sites:
            depth = self.relaying.depth(site)
            yield Waiting(f"site/{site}", depth.messages, depth.bytes, depth.age)
        for session in self.clients.sessions.values():
            # Nearly all of the up to 16,384 sessions are idle, so that case must be cheap.
            waiting = [feed for feed in session.feeds.values() if feed.waiting_bytes]
            if waiting:
                pending, size = (sum(f.pending for f in waiting), sum(f.waiting_bytes for f in waiting))
                yield Waiting(f"session/{session.text}", pending, size)
