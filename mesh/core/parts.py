"""All parts of a node: made, and joined. Each knows what it needs from another as a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from balancers.round_robin import RoundRobin
from discovery.gossip import Known
from mesh.core import status
from mesh.core.admission import Admission
from mesh.core.balancing import Balancing
from mesh.core.census import Censuses
from mesh.core.clients import Clients
from mesh.core.conn import Conn
from mesh.core.datalink import DataLinks
from mesh.core.demand import Demand
from mesh.core.desk import Desk
from mesh.core.dialler import Dialler
from mesh.core.door import SOFTWARE
from mesh.core.erasing import Erasing
from mesh.core.forwarder import Forwarder
from mesh.core.gossiping import Gossiping
from mesh.core.inboxes import Inboxes
from mesh.core.lookup import Lookup
from mesh.core.meeting import Meeting
from mesh.core.neighbours import Neighbours
from mesh.core.nodes import Nodes
from mesh.core.outlet import Outlet
from mesh.core.peer import Peer, peer_key
from mesh.core.questions import Questions
from mesh.core.reception import Reception
from mesh.core.recording import Recording, Waiting
from mesh.core.router import Router
from mesh.core.routes import Routes
from mesh.core.settings import Settings
from mesh.core.statetopics import StateTopics
from mesh.core.subscribing import Subscribing
from mesh.core.verbs import Verbs
from mesh.core.weights import Weights
from mesh.core.whereabouts import Whereabouts
from mesh.links.backoff import Timing
from mesh.links.link import Link
from mesh.mapping.mapping import Mapping
from mesh.routing.feed import Feed
from mesh.routing.log import Log
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.wire import commands as c


class Parts:
    """What a node consists of; see NodeCore."""

    def __init__(self, settings: Settings, ids: Callable[[int], bytes], jitter: Callable[[], float]) -> None:
        desk = self.desk = Desk(settings, ids, jitter)
        admission = Admission(desk)
        self._dialler = admission.dialler = Dialler(desk, admission.door.knock)
        n = self.neighbours = admission.neighbours = Neighbours(desk, self._dialler, self._make_peer)
        self._meeting = admission.meeting = Meeting(desk, self._dialler, n)
        admission.censuses = self._censuses = Censuses(desk, n)
        self.nodes = Nodes(desk, n)
        balancer = settings.balancer or RoundRobin(jitter)
        self.nodes.balancing = Balancing(desk, balancer, self.nodes.named)
        self.mapping = Mapping(settings.me.name, settings.rules, settings.scope)
        self.router = Router(desk, Log(settings.topics_bytes))
        self.questions = Questions(desk)
        self.demand = Demand(desk, self.mapping, self.nodes)
        self.forwarder = Forwarder(desk, self.router, self.mapping, self.nodes)
        self.inboxes = Inboxes(desk, self.router)
        lookup = Lookup(desk, self.router, self.demand, self.questions, self.nodes)
        erasing = Erasing(desk, self.router, self.demand, self.questions, self.nodes)
        self.subscribing = Subscribing(desk, self.router, self.demand, self.questions, lookup, self.inboxes)
        self.clients = admission.clients = Clients(desk, self.router, self.forwarder, self.subscribing)
        self.links = admission.links = DataLinks(
            desk, self.router, self.demand, self.questions, self.forwarder
        )
        routes = Routes(desk, self.mapping, self.nodes, self.questions)
        self.gossiping = Gossiping(desk, n, StateTopics(desk, self.router), SOFTWARE)
        lookup.asked = self.gossiping.asked
        self.recording = Recording(desk, n, self.nodes.balancing, self.router.busy, self._queues)
        self.weights = Weights(desk, n, self.questions)
        verbs = Verbs(
            desk,
            lookup,
            erasing,
            routes,
            self.nodes,
            self.links,
            self.forwarder,
            n,
            self.gossiping,
            self.weights,
            self.info,
        )
        self._reception = Reception(
            desk, admission, self.clients, n, self._dialler, self.links, self.questions, self.forwarder,
            self.gossiping, verbs, self._ended,
        )  # fmt: skip
        self._conns = self._dialler.conns
        self._committed = 0.0
        self._shell_status: Callable[[], dict[str, Any]] = dict
        self._join_parts()

    def _join_parts(self) -> None:
        """Each part knows what it needs from another as a function, never the other itself."""
        n, links, forwarder = self.neighbours, self.links, self.forwarder
        self.nodes.whereabouts = Whereabouts(self.desk, self.questions, self.nodes, forwarder.review)
        self.router.addressed = self.inboxes.addressed
        self.router.inbox = self.inboxes.feed
        self.router.keeps_cache = not self.mapping.is_plain
        self.inboxes.open_of = self.clients.open_of
        self.inboxes.bury = forwarder.tailback.dead.bury
        self.subscribing.released = self._released
        self.subscribing.received = links.received = self._received
        self.questions.ask = self._ask
        self.questions.settled = forwarder.settled = n.settled
        self.demand.peer = forwarder.shipping.peer = n.peers.get
        self.demand.login = forwarder.login = n.review_login
        forwarder.to_client = self.clients.answer
        self._dialler.logged_out = links.logout
        n.needs_login = links.needs_login
        n.acquaintances.later = self.router.log.later
        self.gossiping.figures = self.figures
        self.gossiping.mentioned = self._censuses.mentioned
        self.gossiping.favourites = self.nodes.balanced_over
        self.gossiping.news, self.gossiping.spoke = self._news, self.recording.own
        self.gossiping.weights = lambda: self.weights.stamp
        self.desk.told = self.recording.event
        self.nodes.balancing.state_of = self.gossiping.load_of
        self.nodes.balancing.weight_of = self.recording.weight_of = self.weights.of
        self.weights.later = self.router.log.later
        self.weights.behind, self.weights.strategy = self.gossiping.behind, self.nodes.balancing.name
        n.changes.joined = self._joined
        n.changes.lost = self._lost
        links.is_usable = self.nodes.is_usable
        links.missed = self._gap

    def info(self) -> dict[str, Any]:
        """Who this node is, and its metrics."""
        me = self.desk.me
        return {
            "name": me.name, "uuid": me.uuid.hex(), "boot": me.boot, "address": me.address,
            "cluster": self.desk.settings.cluster, "software": SOFTWARE, "scope": self.desk.settings.scope,
            **self._shell_status(), "metrics": self.figures(),
        }  # fmt: skip

    def figures(self) -> dict[str, int | float]:
        """Its metrics."""
        return status.metrics(
            self.desk, self.neighbours, self.clients, self.router, self.forwarder, self.inboxes
        )

    # --- joints -----------------------------------------------------------------------------------------

    def _ended(self, conn: Conn) -> None:
        session = self.clients.of(conn)
        if session is not None:
            self.clients.gone(session)
        elif conn.role != c.CLIENT:
            self.neighbours.ended(conn)

    def _make_peer(self, node: c.Introduction) -> Peer:
        s, desk = self.desk.settings, self.desk
        outlet = Outlet(s.window_bytes, s.link_messages, lambda feed: 0, to_peer=True)

        def send(feed: Feed, portion: Portion) -> None:
            desk.push(outlet, feed, portion)

        feed = Feed(
            peer_key(node.uuid), s.credit, send, self._released, peer=True, wall=lambda: desk.believed
        )
        feed.owner = node.name
        link = Link(node.uuid, desk.now, desk.jitter, Timing(low=s.backoff_min, high=s.backoff_max))
        return Peer(node, link, outlet, feed)

    def _released(self, parcel: Parcel) -> None:
        if parcel.own and parcel.owed:
            self.router.log.thinned(parcel)
        elif parcel.own:
            self.router.log.released(parcel)
        elif (peer := self.neighbours.peers.get(parcel.source)) is not None:  # else it was forgotten
            self.links.released(peer, parcel)

    def _ask(self, peer: Peer, call: c.Call) -> None:
        peer.reads[call.request] = call
        self.desk.send(peer.data, call)
        self.neighbours.review_login(peer)

    def _received(self) -> dict[bytes, int]:
        """How far we have each master's log."""
        found: dict[bytes, int] = {}
        for peer in self.neighbours.peers.values():
            for master, upstream in peer.upstreams.items():
                found[master] = max(upstream.received, found.get(master, 0))
        return found

    def _joined(self, peer: Peer) -> None:
        self.recording.changed()
        self.gossiping.joined(peer)
        self._changed()
        self.neighbours.review_login(peer)
        self.questions.review()

    def _changed(self) -> None:
        """Nodes have come or gone."""
        self.nodes.whereabouts.forget()
        self.demand.refresh()
        self.forwarder.review()
        self.subscribing.review()

    def _lost(self, peer: Peer, boot: int) -> None:
        peer.reads.clear()
        self.recording.lost(peer.node.uuid)
        self.recording.changed()
        self.gossiping.lost(peer, boot)
        self.questions.lost(peer)
        self._changed()

    def _news(self, known: Known) -> None:
        """Another node has said how it is."""
        self.recording.heard(known)
        self.weights.heard(known)

    def _queues(self) -> Iterator[Waiting]:
        """What waits here: for masters that are away, and for sessions."""
        for hop in self.forwarder.onward.hops():
            depth = self.forwarder.tailback.depth(hop)
            yield f"tailback/{hop or '?'}", depth["messages"], depth["bytes"], depth["age"]
        for session in self.clients.sessions.values():
            # Of sixteen thousand nearly all are idle, and that must cost next to nothing.
            waiting = [feed for feed in session.feeds.values() if feed.waiting_bytes]
            if waiting:
                pending, size = (sum(f.pending for f in waiting), sum(f.waiting_bytes for f in waiting))
                yield f"session/{session.text}", pending, size, None

    def _gap(self, source: Peer, messages: int) -> None:
        """Another node has dropped what was for us: so it is missed by all who get it here, and from here."""
        for session in self.clients.sessions.values():
            for feed in session.feeds.values():
                feed.gap += messages
        for peer in self.neighbours.peers.values():
            if peer.relayed and peer is not source:
                peer.feed.gap += messages
