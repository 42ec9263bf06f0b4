"""One node, without its sockets: frames and time go in, effects come out.

The shell calls `receive`, `stored`, `disconnected` and `tick`, and after each carries out what
`take_effects()` returns, in order. The very same core runs in a simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mesh.core import status
from mesh.core.admission import Admission
from mesh.core.clients import Clients
from mesh.core.conn import Conn
from mesh.core.datalink import DataLinks
from mesh.core.demand import Demand
from mesh.core.desk import Desk
from mesh.core.dialler import Dialler
from mesh.core.door import SOFTWARE
from mesh.core.effects import ConnKey, Effect
from mesh.core.erasing import Erasing
from mesh.core.forwarder import Forwarder
from mesh.core.inboxes import Inboxes
from mesh.core.lookup import Lookup
from mesh.core.neighbours import Neighbours
from mesh.core.nodes import Nodes
from mesh.core.outlet import Outlet
from mesh.core.peer import Peer, peer_key
from mesh.core.questions import Questions
from mesh.core.reception import Reception
from mesh.core.records import read_record
from mesh.core.router import Router
from mesh.core.routes import Routes
from mesh.core.settings import Settings
from mesh.core.subscribing import Subscribing
from mesh.core.verbs import Verbs
from mesh.core.whereabouts import Whereabouts
from mesh.errors import LocalError, MeshError, RemoteError
from mesh.links.backoff import Timing
from mesh.links.link import Link
from mesh.mapping.mapping import Mapping
from mesh.routing.feed import Feed, Portion
from mesh.routing.log import Log
from mesh.routing.parcel import Parcel
from mesh.store.base import Image
from mesh.wire import commands as c
from mesh.wire.envelope import TAILED, decode
from mesh.wire.frames import read

HOLD_CHECK = 0.05  # s between looks at what is held back
STREAM_KEPT = 24 * 3600.0  # s that a vanished publisher's stream is remembered
ALARM = 3600.0  # s: nothing sleeps longer
LAZY_COMMIT = 1.0  # s that changes which nobody waits for may stay in memory


class NodeCore:
    """Everything a node decides."""

    def __init__(self, settings: Settings, ids: Callable[[int], bytes], jitter: Callable[[], float]) -> None:
        desk = self.desk = Desk(settings, ids, jitter)
        admission = Admission(desk)
        self._dialler = admission.dialler = Dialler(desk, admission.door.knock)
        n = self.neighbours = admission.neighbours = Neighbours(desk, self._dialler, self._make_peer)
        self.nodes = Nodes(desk, n)
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
        verbs = Verbs(desk, lookup, erasing, routes, self.nodes, self.links, self.forwarder, n, self.info)
        self._reception = Reception(
            desk, admission, self.clients, n, self._dialler, self.links, self.questions, self.forwarder,
            verbs, self._ended,
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
        self.demand.peer = forwarder.peer = n.peers.get
        self.demand.login = forwarder.login = n.review_login
        forwarder.to_client = self.clients.answer
        self._dialler.logged_out = links.logout
        n.needs_login = links.needs_login
        n.joined = self._joined
        n.lost = self._lost
        links.is_usable = self.nodes.is_usable
        links.sessions_gap = self._gap

    # --- what the shell calls -----------------------------------------------------------------------

    def start(
        self, image: Image, now: float, wall: int, shell_status: Callable[[], dict[str, Any]] = dict
    ) -> None:
        """Take up what the store holds."""
        self._at(now, wall)
        self._shell_status = shell_status
        self.neighbours.start()
        tables = image.tables
        positions = tables.get("position", {})
        feeds = tables.get("feed", {})
        self.router.log.restore(
            tables.get("stream", {}), tables.get("retained", {}).values(), image.next_position, now
        )
        self.desk.stamped(self.router.log.newest)
        self.clients.restore({k: v for k, v in feeds.items() if k[:1] == b"c"}, positions)
        self.inboxes.restore(positions)
        for key, record in feeds.items():
            if key[:1] == b"n":
                known = read_record(record)
                peer = self._make_peer(c.Introduction(key[1:], known.owner, 0, ""))
                self.neighbours.peers[key[1:]] = peer
                self.links.restore(peer, known, positions.get(key, b""))
        tailed = []
        for position, header, body in image.envelopes:
            envelope = decode(header, body)
            if envelope.flags & TAILED:
                tailed.append((position, replace(envelope, flags=envelope.flags & ~TAILED)))
            else:
                self.router.restore(position, envelope)
        # In each publisher's order, whatever the order in which they had to be stored.
        for position, envelope in sorted(tailed, key=lambda t: (t[1].stream, t[1].domain, t[1].first)):
            self.router.log.live += 1
            self.forwarder.restore(position, envelope)
        self.tick(now, wall)

    def accept(self, key: ConnKey, endpoint: str, trusted: bool) -> None:
        """A connection came in that the shell has not named before."""
        now = self.desk.now
        self.desk.count("connections")
        self._conns[key] = Conn(key, False, trusted, endpoint, now, now)

    def receive(self, key: ConnKey, frames: list[bytes], now: float, wall: int) -> None:
        """A message on a connection."""
        self._at(now, wall)
        conn = self._conns.get(key)
        if conn is None or conn.closed:
            return
        conn.heard = now
        try:
            command, envelopes = read(frames, self.desk.settings.max_content)
            self._reception.take(conn, command, envelopes)
        except (RemoteError, LocalError) as error:
            self._broke_protocol(conn, error)

    def stored(self, token: int, error: MeshError | None, now: float, wall: int) -> None:
        """A commit ended."""
        self._at(now, wall)
        self.router.stored(token, error)

    def disconnected(self, key: ConnKey, now: float, wall: int) -> None:
        """The transport says that a connection is gone."""
        self._at(now, wall)
        conn = self._conns.pop(key, None)
        if conn is not None and not conn.closed:
            conn.closed = True
            self._ended(conn)

    def tick(self, now: float, wall: int) -> None:
        """Time has passed."""
        self._at(now, wall)
        self.desk.alarm = now + ALARM
        silence = self.desk.settings.silence
        for conn in [x for x in self._conns.values() if x.role == c.CLIENT and now - x.heard > silence]:
            self.desk.hang_up(conn)
            self._ended(conn)
        self.neighbours.tick()
        self.clients.tick()
        self.questions.review()
        self.demand.tick()
        self.forwarder.tick()
        for peer in self.neighbours.peers.values():
            away = not peer.feed.connected and now - peer.feed.gone_since > self.desk.settings.peer_linger
            if peer.feed.queries and away:
                self.links.forget(peer)
        for key in [k for k, x in self._conns.items() if x.closed]:
            del self._conns[key]
        if now - self._committed >= LAZY_COMMIT:
            self._committed = now
            self.router.log.forget_idle(now - STREAM_KEPT)
            self.inboxes.tick()
            self.router.commit_later()
        self.desk.wake(self.neighbours.deadline())
        self.desk.wake(self.questions.deadline())

    @property
    def alarm(self) -> float:
        """When tick() is next worth calling."""
        return self.desk.alarm

    def take_effects(self) -> list[Effect]:
        """What is to be done now, in order."""
        desk = self.desk
        if self.router.pacing:
            self.router.pacing.release(desk.now)
            if self.router.pacing:
                desk.wake(desk.now + HOLD_CHECK)
        while desk.outlets:
            outlet, _ = desk.outlets.popitem()
            outlet.flush(desk.raw)
        self.forwarder.flush()
        self.clients.flush()
        self.links.flush()
        effects, desk.effects = desk.effects, []
        return effects

    def goodbye(self, now: float, wall: int) -> None:
        """Leave on purpose: tell everybody."""
        self._at(now, wall)
        forward = tuple(p.node.address for p in self.neighbours.alive() if p.node.address)
        for conn in list(self._conns.values()):
            if conn.is_open:
                self.desk.send(conn, c.Bye("stopping", forward))
        self.router.commit_later()

    def info(self) -> dict[str, Any]:
        """Who this node is, and its metrics."""
        me = self.desk.me
        return {
            "name": me.name, "uuid": me.uuid.hex(), "boot": me.boot, "address": me.address,
            "cluster": self.desk.settings.cluster, "software": SOFTWARE, "scope": self.desk.settings.scope,
            **self._shell_status(),
            "metrics": status.metrics(
                self.desk, self.neighbours, self.clients, self.router, self.forwarder, self.inboxes
            ),
        }  # fmt: skip

    # --- joints -----------------------------------------------------------------------------------------

    def _at(self, now: float, wall: int) -> None:
        self.desk.now, self.desk.wall = now, wall

    def _ended(self, conn: Conn) -> None:
        session = self.clients.of(conn)
        if session is not None:
            self.clients.gone(session)
        elif conn.role != c.CLIENT:
            self.neighbours.ended(conn)

    def _broke_protocol(self, conn: Conn, error: MeshError) -> None:
        session, peer = self.clients.of(conn), self.neighbours.of(conn)
        who = session.text if session else peer.node.name if peer else "a stranger"
        self.desk.count("malformed")
        self.desk.note("warning", f"{who} broke the protocol, its connection is closed: {error}")
        self.desk.send(conn, c.Refuse(error.code, error.what))
        self.desk.hang_up(conn)
        self._ended(conn)

    def _make_peer(self, node: c.Introduction) -> Peer:
        s, desk = self.desk.settings, self.desk
        outlet = Outlet(s.window_bytes, s.link_messages, lambda feed: 0, to_peer=True)

        def send(feed: Feed, portion: Portion) -> None:
            desk.push(outlet, feed, portion)

        feed = Feed(peer_key(node.uuid), s.credit, send, self._released, peer=True)
        feed.owner = node.name
        link = Link(node.uuid, desk.now, desk.jitter, Timing(low=s.backoff_min, high=s.backoff_max))
        return Peer(node, link, outlet, feed)

    def _released(self, parcel: Parcel) -> None:
        if parcel.own:
            self.router.log.released(parcel)
        else:
            self.links.released(self.neighbours.peers[parcel.source], parcel)

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
        self._changed()
        self.neighbours.review_login(peer)
        self.questions.review()

    def _changed(self) -> None:
        """Nodes have come or gone."""
        self.nodes.whereabouts.forget()
        self.demand.refresh()
        self.forwarder.review()
        self.subscribing.review()

    def _lost(self, peer: Peer) -> None:
        peer.reads.clear()
        self.questions.lost(peer)
        self._changed()

    def _gap(self, messages: int) -> None:
        for session in self.clients.sessions.values():
            for feed in session.feeds.values():
                feed.gap += messages
