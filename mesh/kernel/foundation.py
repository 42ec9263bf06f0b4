"""Creates and connects the components of a node that know no client."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mesh.balancers.round_robin import RoundRobin
from mesh.kernel.access.authenticator import SOFTWARE
from mesh.kernel.context.disks import Disks
from mesh.kernel.context.message_fragments import MessageFragments
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import Settings
from mesh.kernel.delivery.router import Router
from mesh.kernel.peers.census import Censuses
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.peers.duplicate_detector import DuplicateDetector
from mesh.kernel.peers.exchange import exchange
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer, met
from mesh.kernel.peers.peer_handshake import PeerHandshake
from mesh.kernel.routes.balancing import Balancing, name_of
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls
from mesh.kernel.sharing.authors import Authors
from mesh.kernel.sharing.shared import Shared
from mesh.kernel.sharing.weights import Weights
from mesh.kernel.states.gossiping import Gossiping
from mesh.kernel.states.recall import Recall
from mesh.kernel.states.route_proofs import RouteProofs
from mesh.kernel.states.state_topic_stream import StateTopicStream
from mesh.kernel.states.statetopics import StateTopics
from mesh.kernel.states.ways import OwnWays
from mesh.kernel.subscribers.settling import FeedSettling
from mesh.links.backoff import Timing
from mesh.mapping.mapping import Mapping
from mesh.routing.log import Log
from mesh.routing.memory import Memory
from mesh.routing.merging import Merging
from mesh.routing.paging import Paging
from mesh.site_policy.accepting import any_brings
from mesh.wire.envelope import Envelope


class Foundation:
    """The components of a node that know no client: log, peers, membership, routes, shared rows.

    `ids` returns that many random bytes, and `jitter` a random number in [0, 1).
    """

    def __init__(self, settings: Settings, ids: Callable[[int], bytes], jitter: Callable[[], float]) -> None:
        context = self.context = NodeContext(settings, ids, jitter)
        disks = self.disks = Disks(context)
        disk = self.disk = disks.own
        shelf = disk.shelf
        mapping = self.mapping = Mapping(settings.me.name, settings.rules, settings.scope)

        def keeps_end(key: str, e: Envelope) -> bool:
            sites = context.settings.site.accepting.values()
            return mapping.is_kept(key, e) or any_brings(sites, e.domain, key)

        log = self.log = Log(
            settings.topics_bytes, shelf, disks.shelf_of, keeps_end, settings.site.name, mapping.histories
        )
        memory = self.memory = Memory(settings.memory_bytes)
        paging = self.paging = Paging(memory, settings.me.uuid, disk.fetch)
        self.piecework = MessageFragments(context)

        peers = self.peers = dict[bytes, Peer]()
        timing = Timing(low=settings.backoff_min, high=settings.backoff_max)
        merging = self.merging = Merging(settings.me.name, mapping.masters, mapping.comes_in_parts)
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
        self.meeting = PeerHandshake(context, dialler, n, rivals)
        censuses = self.censuses = Censuses(context, n)

        boot_of = n.directory.boot_of
        keeps_cache, ttls_of = not mapping.is_plain, mapping.cache_ttls
        router = self.router = Router(context, log, disks, boot_of, keeps_cache, merging, ttls_of)
        ways = self.ways = OwnWays(context)
        questions = self.questions = PeerCalls(context, n)
        telling = self.telling = StateTopicStream(context, router)
        gossiping = self.gossiping = Gossiping(context, n, censuses, StateTopics(telling), ways, SOFTWARE)
        balancer = settings.balancer or RoundRobin(jitter)
        self.strategy = name_of(balancer)
        authors = self.authors = Authors(context, n)
        shared = self.shared = Shared(context, disk, n, authors, questions, gossiping)
        weights = self.weights = Weights(context, disk, n, gossiping, shared, self.strategy)
        balancing = self.balancing = Balancing(
            context, balancer, n.named, gossiping.load_of, weights.weight_of, gossiping.is_leaving
        )
        self.nodes = Nodes(context, n, questions, balancing)
        self.vouching = RouteProofs(context, n, gossiping, ways)
        self.recall = Recall(context, dialler, n, questions, gossiping, shared.learn_early)
