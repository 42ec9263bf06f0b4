"""Creates and connects the components of a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from mesh.balancers.round_robin import RoundRobin
from mesh.kernel.access.authenticator import SOFTWARE
from mesh.kernel.admission import Admission
from mesh.kernel.asking.erasing import Erasing
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.asking.lookup import Lookup
from mesh.kernel.calls import Verbs
from mesh.kernel.context.disks import Disks
from mesh.kernel.context.message_fragments import MessageFragments
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import Settings
from mesh.kernel.delivery.router import Router
from mesh.kernel.feature import Feature, FeatureParts, build, in_order
from mesh.kernel.forwarding.deadletters import DeadLetters
from mesh.kernel.forwarding.dirty_reads import DirtyReads
from mesh.kernel.forwarding.forwarder import Forwarder
from mesh.kernel.forwarding.provenance import Provenance
from mesh.kernel.forwarding.routes import Routes
from mesh.kernel.peers.census import Censuses
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.peers.duplicate_detector import DuplicateDetector
from mesh.kernel.peers.exchange import exchange
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer, met
from mesh.kernel.peers.peer_handshake import PeerHandshake
from mesh.kernel.presence.audience import Audience
from mesh.kernel.presence.members import GroupMembers
from mesh.kernel.presence.presence import Presence
from mesh.kernel.presence.reply_batch import ReplyBatch
from mesh.kernel.reception import Reception
from mesh.kernel.routes.balancing import Balancing, name_of
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls
from mesh.kernel.routes.strata import LiveStrata
from mesh.kernel.routes.trees import Trees
from mesh.kernel.rules.inheriting import Inheriting
from mesh.kernel.rules.ruling import Ruling
from mesh.kernel.rules.standby import Standby
from mesh.kernel.sharing.authors import Authors
from mesh.kernel.sharing.shared import Shared
from mesh.kernel.sharing.weights import Weights
from mesh.kernel.states.clocks import Clocks
from mesh.kernel.states.gossiping import Gossiping
from mesh.kernel.states.nodetopics import NodeTopics
from mesh.kernel.states.recall import Recall
from mesh.kernel.states.route_proofs import RouteProofs
from mesh.kernel.states.state_topic_stream import StateTopicStream
from mesh.kernel.states.statetopics import StateTopics
from mesh.kernel.states.ways import OwnWays
from mesh.kernel.status import Status
from mesh.kernel.subscribers.client_feeds import ClientFeeds
from mesh.kernel.subscribers.clients import Clients
from mesh.kernel.subscribers.consuming import Consuming
from mesh.kernel.subscribers.copies import Copies
from mesh.kernel.subscribers.datalink import DataLinks
from mesh.kernel.subscribers.firstvalues import FirstValues
from mesh.kernel.subscribers.gap_reports import GapReports
from mesh.kernel.subscribers.holdings import Holdings
from mesh.kernel.subscribers.inboxes import Inboxes
from mesh.kernel.subscribers.item_arrivals import ItemArrivals
from mesh.kernel.subscribers.lastvalues import LastValues
from mesh.kernel.subscribers.origins import Origins
from mesh.kernel.subscribers.peer_subscriptions import PeerSubscriptions
from mesh.kernel.subscribers.publishing import Publishing
from mesh.kernel.subscribers.sender_check import SenderCheck
from mesh.kernel.subscribers.sessions import Sessions
from mesh.kernel.subscribers.settling import FeedSettling
from mesh.kernel.subscribers.subscribing import SubscriberFeeds
from mesh.links.backoff import Timing
from mesh.mapping.mapping import Mapping
from mesh.routing.log import Log
from mesh.routing.memory import Memory
from mesh.routing.merging import Merging
from mesh.routing.paging import Paging
from mesh.site_policy.accepting import any_brings
from mesh.wire.envelope import Envelope
from mesh.wire.limits import DIRTY

F = TypeVar("F", bound=FeatureParts)


class Parts:
    """The components of a node: those of the kernel, and the features that are built on them."""

    def __init__(
        self,
        settings: Settings,
        ids: Callable[[int], bytes],
        jitter: Callable[[], float],
        features: Sequence[Feature[Parts]] = (),
    ) -> None:
        context = self.context = NodeContext(settings, ids, jitter)
        disks = self.disks = Disks(context)
        disk = self.disk = disks.own
        shelf = disk.shelf
        mapping = self.mapping = Mapping(settings.me.name, settings.rules, settings.scope)

        def keeps_end(key: str, e: Envelope) -> bool:
            sites = context.settings.site.accepting.values()
            return mapping.is_kept(key, e) or any_brings(sites, e.domain, key)

        log = self.log = Log(settings.topics_bytes, shelf, disks.shelf_of, keeps_end, settings.site.name)
        memory = self.memory = Memory(settings.memory_bytes)
        paging = self.paging = Paging(memory, settings.me.uuid, disk.fetch)
        self.piecework = MessageFragments(context)

        peers: dict[bytes, Peer] = {}
        timing = Timing(low=settings.backoff_min, high=settings.backoff_max)
        merging = Merging(settings.me.name, mapping.masters, mapping.is_backed)
        settling = self.settling = FeedSettling(shelf, mapping, merging, peers, bool(settings.site.name))
        dialler = self.dialler = Dialler(context)
        rivals = self.rivals = DuplicateDetector(context, dialler)
        n = self.neighbours = Neighbours(
            context,
            disk,
            dialler,
            peers,
            partial(met, context, timing, partial(exchange, context, settling.on_released, paging)),
            rivals.rumoured,
        )
        meeting = self.meeting = PeerHandshake(context, dialler, n, rivals)
        censuses = self.censuses = Censuses(context, n)

        boot_of = n.directory.boot_of
        router = self.router = Router(context, log, disks, boot_of, not mapping.is_plain, merging)
        ways = self.ways = OwnWays(context)
        questions = self.questions = PeerCalls(context, n)
        telling = StateTopicStream(context, router)
        gossiping = self.gossiping = Gossiping(context, n, censuses, StateTopics(telling), ways, SOFTWARE)
        balancer = settings.balancer or RoundRobin(jitter)
        self.strategy = name_of(balancer)
        authors = self.authors = Authors(context, n)
        shared = self.shared = Shared(context, disk, n, authors, questions, gossiping)
        weights = self.weights = Weights(context, disk, n, gossiping, shared, self.strategy)
        balancing = self.balancing = Balancing(
            context, balancer, n.named, gossiping.load_of, weights.weight_of
        )
        nodes = self.nodes = Nodes(context, n, questions, balancing)
        vouching = self.vouching = RouteProofs(context, n, gossiping, ways)
        recall = self.recall = Recall(context, dialler, n, questions, gossiping, shared.learn_early)

        provenance = Provenance(context, vouching)
        demand = self.demand = InterestSync(context, mapping, n, nodes, questions.slow)
        lookup = Lookup(context, router, demand, questions, nodes, merging)
        node_topics = NodeTopics(context, telling, n, mapping)
        erasing = Erasing(context, router, demand, questions, nodes, provenance.judge)
        sessions = self.sessions = Sessions(context)
        dead = self.dead = DeadLetters(context, disk, router)
        provisional = DirtyReads(context, router, mapping, lambda feed: sessions.speak(feed, DIRTY))
        forwarder = self.forwarder = Forwarder(
            context, disk, router, n, nodes, mapping, provenance, dead, sessions.answer_client, provisional
        )
        copies = Copies(context, mapping, log, disk)
        gaps = GapReports(context, n, sessions)
        arrivals = ItemArrivals(context, router, n, mapping, settling, merging, copies, provisional)
        links = self.links = DataLinks(context, disk, router, n, nodes, demand, forwarder, gaps, arrivals)
        origins = Origins(context, vouching, mapping, links.solicited.has_grace)
        sender_check = self.sender_check = SenderCheck(context, n, origins, links.solicited, links.items)
        wanted = self.wanted = PeerSubscriptions(
            context, disk, router, n, demand, questions, arrivals.received
        )
        inboxes = self.inboxes = Inboxes(context, disk, paging, dead, sessions)
        first = self.first_values = FirstValues(context, router.joining, demand, questions, lookup)
        subscribing = self.subscribing = SubscriberFeeds(
            context,
            disk,
            router,
            demand,
            questions,
            first,
            inboxes,
            ClientFeeds(context, settling, paging),
            arrivals.received,
            sessions,
        )
        publishing = Publishing(context, sessions, forwarder)
        clients = self.clients = Clients(context, router, nodes, publishing, subscribing, sessions)
        holdings = Holdings(context, sessions, clients.cut_off_largest)
        audience = Audience(nodes, questions.slow)
        presence = self.presence = Presence(context, n, nodes, audience)
        members = self.members = GroupMembers(context, n, nodes, audience)
        self.back = ReplyBatch(context, peers.get)
        strata = self.strata = LiveStrata(context, mapping, n, nodes)
        trees = Trees(context, mapping, nodes, questions, strata)
        admission = self.admission = Admission(
            context, dialler, n, meeting, censuses, recall, clients, links, self.piecework
        )
        last_values = LastValues(context, lookup, erasing, forwarder, links)
        ruling = self.ruling = Ruling(context, mapping, meeting, n, nodes, router, gossiping, demand)
        inheriting = Inheriting(context, mapping, lookup, erasing, log, disks.own)
        standby = Standby(context, mapping, nodes, demand, questions, copies)
        routes = self.routes = Routes(context, mapping, nodes, questions)
        status = self.status = Status(context, n, gossiping, forwarder)
        self.reception = Reception(context, admission, sessions, n, self.piecework)
        self._features: list[FeatureParts] = []
        for feature in in_order(features):
            self._features.append(build(feature, self))
        # Lower packages first. Components that repeat questions follow those that know the nodes to ask.
        context.face.fill(
            (
                context.events, disks, n, n.acquaintances, meeting, censuses, router, nodes.whereabouts, ways,
                recall, gossiping, Clocks(context, n), node_topics, vouching, demand, lookup,
                forwarder.shipping, provisional, forwarder,
                sessions, sender_check, links, wanted,
                inboxes, last_values, routes, first, subscribing, publishing, clients,
                authors, shared, weights, ruling, inheriting, standby, strata, trees, admission, status,
                Consuming(context), presence, members,
                *(component for feature in self._features for component in feature.components),
                Verbs(context, wanted), self.reception, holdings, questions,
            )
        )  # fmt: skip

    def __getitem__(self, kind: type[F]) -> F:
        """Return the components of a feature by their class, as in `parts[QueueParts]`."""
        for parts in self._features:
            if isinstance(parts, kind):
                return parts
        raise KeyError(kind)
