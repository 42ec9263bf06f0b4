"""Which other nodes are there? Members, heard of and heard from, and the peer each of them is to us."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf

from discovery.member import Presence
from discovery.membership import Doubled, Event, Membership, NameClash, Sighted, Timing
from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Disk
from mesh.core.desk.facts import ConnEnded, Hearing, hear
from mesh.core.desk.part import Beginning, Part, Taking, take
from mesh.core.peers.acquaintances import Acquaintances
from mesh.core.peers.changes import Changes
from mesh.core.peers.dialler import REPLACED, ROOM, Dialler
from mesh.core.peers.facts import PeerForgotten, PeerJoined
from mesh.core.peers.introductions import as_introduction, as_node
from mesh.core.peers.liveness import Happened, Liveness
from mesh.core.peers.peer import Peer
from mesh.core.peers.reach import HEAD_START
from mesh.core.peers.reach_table import State as Told
from mesh.links.table import State
from mesh.routing.feed import Feed
from mesh.wire import commands as c
from mesh.wire.commands import NODE_CONTROL, Bye, Introduction, Peers

FIRST_VIEW = 1.0  # s after its start that a node waits for those it was told of
CROWD = 32  # nodes; with more, control links are only there as long as they are needed
TURN = 0.05  # s for each node of a crowd, in which one of them dials whom all have sighted,
LAST_TURN = 5.0  # s, and for all of them
UNUSED = 30.0  # s after which such a link is closed
SWEEP = 60.0  # s between two looks for nodes that nobody remembers


class Neighbours(Part):
    """All peers that were sighted, in `peers`. `made` builds one, `doubled` hears that others say that we are
    there ourselves."""

    def __init__(
        self,
        desk: Desk,
        disk: Disk,
        dialler: Dialler,
        peers: dict[bytes, Peer],
        made: Callable[[Introduction], Peer],
        doubled: Callable[[Introduction], None],
    ) -> None:
        self.peers = peers
        timing = Timing(period=desk.settings.probe)
        self.membership = Membership(as_node(desk.me), desk.jitter, timing)
        self.acquaintances = Acquaintances(desk, disk, dialler, self._is_alive, self._is_occupied)
        self.liveness = Liveness(desk, self.membership, self.happened, self.peers.get, dialler)
        self._desk = desk
        self._dialler = dialler
        self._made = made
        self._born = 0.0
        self._names: dict[str, Peer] = {}  # forgotten whenever something happens,
        self._occupied: set[str] = set()  # and so are the addresses of those that are alive
        self._swept = 0.0
        self.changes = Changes(desk, dialler, self._announce)
        self._doubled = doubled

    def hears(self) -> Sequence[Hearing]:
        return (hear(PeerJoined, lambda fact: self.review_login(fact.peer)), hear(ConnEnded, self._ended))

    def from_peers(self) -> Sequence[Taking]:
        live = self.liveness
        return (
            take(c.Peers, lambda conn, peer, command, _: self.introduced(command.nodes, peer)),
            take(c.Bye, lambda conn, peer, command, _: self._goodbye(conn, peer, command)),
            take(c.Pong, lambda conn, peer, command, _: self._dialler.pong(peer, command)),
            take(c.Probe, lambda conn, peer, command, _: live.probe(conn, peer, command)),
            take(c.ProbeFor, lambda conn, peer, command, _: live.probe_for(peer, command)),
            take(c.Probed, lambda conn, peer, command, _: live.probed(peer, command)),
        )

    def figures(self) -> dict[str, int | float]:
        return {
            "upstream_queries": sum(len(feed.queries) for feed in self.feeds()),
            "data_links": sum(peer.data is not None for peer in self.peers.values()),
            "control_links": sum(peer.control is not None for peer in self.peers.values()),
            "old_news": self.membership.old_news,
            "no_room": self.membership.no_room,
            "nodes_alive": self.membership.count,
        }

    def feeds(self) -> Iterator[Feed]:
        return (begun.feed for peer in self.peers.values() if (begun := peer.begun) is not None)

    def of(self, conn: Conn) -> Peer | None:
        """Whose connection it is, if it is a node's and still wanted."""
        return self.peers.get(conn.owner)

    def introduction(self, uuid: bytes) -> Introduction | None:
        """What is known of that node, if it is a peer."""
        peer = self.peers.get(uuid)
        return peer.node if peer is not None else None

    def boot_of(self, uuid: bytes) -> int:
        """That of a node, as far as it is known; else 0."""
        node = self.introduction(uuid)
        return node.boot if node is not None else 0

    def alive(self) -> list[Peer]:
        """Peers that can be asked something: alive, and not shut out by either side."""
        return [p for p in self.peers.values() if p.alive and p.link.state is not State.NOT_ALLOWED]

    @property
    def is_crowd(self) -> bool:
        """Are there too many nodes to keep a connection to each?"""
        return self.membership.count > CROWD

    def named(self, name: str) -> Peer | None:
        """The peer of that name; where several had it, the one that is alive."""
        if not self._names:
            ordered = sorted(self.peers.values(), key=lambda p: (p.alive, p.node.boot))
            self._names = {peer.node.name: peer for peer in ordered}
        return self._names.get(name)

    # --- hearing ----------------------------------------------------------------------------------------

    def ended(self, conn: Conn) -> None:
        """A connection to or from a node is gone."""
        peer = self.of(conn)
        was_control = peer is not None and peer.control is conn
        self._dialler.ended(conn, peer)
        if was_control and peer is not None and peer.alive:
            self.liveness.disconnected(peer)

    def _ended(self, fact: ConnEnded) -> None:
        if fact.conn.role != c.CLIENT:
            self.ended(fact.conn)

    def heard(self, peer: Peer) -> None:
        """Anything from it is a sign of life."""
        happened = self.membership.heard(peer.node.uuid, self._desk.now)
        if happened:
            self.happened(happened)

    def introduced(self, nodes: tuple[Introduction, ...], by: Peer) -> None:
        """Somebody tells us of others."""
        for node in nodes:
            if node.uuid != self._desk.me.uuid:
                self.sighted(node, "gossip", by.node.uuid)

    def sighted(self, node: Introduction, via: str, by: bytes = b"") -> None:
        """A node was heard of."""
        self.happened(self.membership.sight(as_node(node), via, self._desk.now, by))

    def readdressed(self) -> None:
        """This node is to be found elsewhere now."""
        self.happened(self.membership.readdressed(as_node(self._desk.me), self._desk.now))

    def _goodbye(self, conn: Conn, peer: Peer, command: Bye) -> None:
        """The node goes, or only one of its connections."""
        self._desk.hang_up(conn)
        self._dialler.ended(conn, peer)
        if command.reason != REPLACED:
            self.happened(self.membership.leave(peer.node.uuid, peer.node.boot, self._desk.now))

    def others(self, than: bytes) -> tuple[Introduction, ...]:
        """Whom a newcomer should know; in a crowd rumours tell it."""
        if self.is_crowd:
            return ()
        return tuple(p.node for p in self.peers.values() if p.alive and p.node.uuid != than)

    # --- what follows -----------------------------------------------------------------------------------

    def happened(self, happened: Happened) -> None:
        for event in happened:
            if isinstance(event, Event):
                self._event(event)
            else:
                self.liveness.carry_out(event)

    def _event(self, event: Event) -> None:
        if isinstance(event, NameClash):
            return
        if isinstance(event, Doubled):
            self._doubled(as_introduction(event.member.node))
            return
        node = as_introduction(event.member.node)
        peer = self.peers.get(node.uuid)
        if peer is None:
            peer = self.peers[node.uuid] = self._made(node)
            wait = 0.0 if self._desk.me.uuid < node.uuid else HEAD_START
            peer.reach.put_off(self._desk.now + wait)
            self._desk.wake(peer.reach.due)
        known = peer.node.boot
        if node.key or not peer.node.key:
            peer.node = node
        self._names, self._occupied = {}, set()
        self.changes.react(peer, event, known)
        if isinstance(event, Sighted) and self.is_crowd:
            # All may have sighted it at once: a few will dial it, and rumours tell the others.
            turn = self._desk.jitter() * min(self.membership.count * TURN, LAST_TURN)
            peer.reach.put_off(self._desk.now + turn)
        self._names, self._occupied = {}, set()

    def _announce(self, newcomer: Peer) -> None:
        """Tell the others of it, at once; in a crowd the rumours do."""
        for peer in self.peers.values() if not self.is_crowd else ():
            if peer is not newcomer:
                self._desk.send(peer.control, Peers((newcomer.node,)))

    # --- time -------------------------------------------------------------------------------------------

    def known(self, uuid: bytes, name: str) -> Peer:
        """The peer of that uuid, of which at least the name is known."""
        if uuid not in self.peers:
            self.peers[uuid] = self._made(Introduction(uuid, name, 0, ""))
        return self.peers[uuid]

    def start(self, beginning: Beginning) -> None:
        self._born = self._desk.now

    def settled(self) -> bool:
        """Has everybody we were told of answered, or have we waited long enough for a first view?"""
        if self._desk.now - self._born >= FIRST_VIEW:
            return True
        hearsay = any(member.state is Presence.SEEN for member in self.membership.all())
        return self.acquaintances.are_heard and not hearsay

    def tick(self) -> None:
        """Dial, ping and give up what is due."""
        now, dialler = self._desk.now, self._dialler
        for conn in dialler.unfinished():
            self._desk.hang_up(conn)
            self.ended(conn)
        self.happened(self.membership.tick(now))
        if now - self._swept > SWEEP:
            self._sweep()
        if self.is_crowd:
            self._close_unused()
        active = self._active()  # without those that were closed just now: they must not be dialled again
        self._dial(active)
        for peer in active:
            if now >= self._next_ping(peer):
                dialler.ping(peer)
            dialler.apply(peer, peer.link.tick(now))
            self.review_login(peer)
        self._desk.wake(self._deadline())

    def _dial(self, peers: list[Peer]) -> None:
        """Those that are due. Where there is no room for all, the new ones first, and each in its turn."""
        due = [p for p in peers if p.control is None and p.reach.due <= self._desk.now]
        room = self._dialler.room
        for peer in sorted(due, key=lambda p: (p.reach.state is not Told.TOLD_OF, p.reach.due)):
            if peer.alive:
                self._dialler.sight(peer)
            elif room > 0:
                room -= self._dialler.sight(peer)

    def _is_alive(self, uuid: bytes) -> bool:
        return uuid in self.peers and self.peers[uuid].alive

    def _is_occupied(self, address: str) -> bool:
        """Is a node that is alive at that address?"""
        if not self._occupied:
            self._occupied = {
                a for p in self.peers.values() if p.alive for a in (p.reached, p.node.address, *p.node.also)
            }
        return address in self._occupied

    def _active(self) -> list[Peer]:
        """Those for whom time alone may matter."""
        return self._dialler.watched() if self.is_crowd else list(self.peers.values())

    def _close_unused(self) -> None:
        """In a crowd a control connection is kept only as long as it is needed."""
        for peer in self._dialler.watched():
            control = peer.control
            is_idle = peer.data is None and self._desk.now - peer.used > UNUSED
            if control is not None and control.dialled and is_idle:
                self._dialler.drop(peer, NODE_CONTROL)

    def _sweep(self) -> None:
        """Forget peers that membership has forgotten, when nothing is owed to them."""
        self._swept = self._desk.now
        for uuid, peer in list(self.peers.items()):
            begun = peer.begun
            is_owed = begun is not None and begun.feed.queries
            is_needed = peer.is_active or is_owed or self._needs_login(peer)
            if not peer.alive and not is_needed and self.membership.of(uuid) is None:
                if begun is not None:
                    self._desk.accounts.closed(begun.feed, is_peer=True)
                del self.peers[uuid]
                self._desk.say(PeerForgotten(peer))
        self._dialler.watched()  # which forgets them, too

    def ping_all(self) -> None:
        """Those who have dialled us: whose connection is gone, the transport notices now."""
        for peer in self.peers.values():
            if any(conn is not None and not conn.dialled for conn in peer.conns.values()):
                self._dialler.ping(peer)

    def review_login(self, peer: Peer) -> None:
        """Is the data connection needed? Logins are lazy."""
        if peer.alive and not peer.link.is_wanted and self._needs_login(peer):
            self._dialler.apply(peer, peer.link.wanted(self._desk.now))

    def _needs_login(self, peer: Peer) -> bool:
        return any(owes(peer) for owes in self._desk.face.owes)

    def _next_ping(self, peer: Peer) -> float:
        if peer.data is None and (peer.control is None or self.is_crowd):
            return inf
        s = self._desk.settings
        return peer.pinged + s.pings.get(peer.node.name, s.ping)

    def _deadline(self) -> float:
        """When tick() is next worth calling."""
        now = self._desk.now
        times = [self.membership.deadline(), self._dialler.deadline()]
        room = self._dialler.room
        times.append(now + self._desk.settings.ping)  # other parts of the core count on being called
        for peer in self._active():
            times.append(self._next_ping(peer))
            reach = peer.reach
            waits = peer.control is None and (reach.untried or not peer.dials[NODE_CONTROL])
            if peer.node.address and waits and reach.state is not Told.LEFT:
                has_room = peer.alive or room > 0
                times.append(reach.due if has_room else max(reach.due, now + ROOM))
            link = peer.link.deadline()
            if link is not None:
                times.append(link)
        if not self.settled():
            times.append(self._born + FIRST_VIEW)
        return max(now, min(times))
