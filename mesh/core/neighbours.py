"""Which other nodes are there? Members, heard of and heard from, and the peer each of them is to us."""

from __future__ import annotations

from collections.abc import Callable

from discovery.membership import (
    Dead,
    Event,
    Joined,
    Left,
    Member,
    Membership,
    Moved,
    NameClash,
    Presence,
    Restarted,
    Sighted,
)
from mesh.core.conn import Conn
from mesh.core.desk import Desk
from mesh.core.dialler import REPLACED, Dialler
from mesh.core.effects import Stop
from mesh.core.peer import Peer
from mesh.errors import RemoteError
from mesh.links.duel import keep_mine
from mesh.links.table import State
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Bye, Hello, Introduction, Peers, Refuse

HEAD_START = 0.3  # s that the lower uuid has to dial first, so that both seldom dial at once
FIRST_VIEW = 1.0  # s after its start that a node waits for those it was told of
YOUNG = 30.0  # s: a node this young gives way when its name is taken


class Neighbours:
    """All peers that were sighted. `made` builds a peer."""

    def __init__(self, desk: Desk, dialler: Dialler, made: Callable[[Introduction], Peer]) -> None:
        me = desk.me
        self.peers: dict[bytes, Peer] = {}
        self.membership = Membership(
            Member(me.uuid, me.name, me.boot, me.address, "self", Presence.ALIVE, 0.0), desk.settings.silence
        )
        self._desk = desk
        self._dialler = dialler
        self._made = made
        self._born = 0.0
        self._names: dict[str, Peer] = {}  # forgotten whenever something happens
        # Set by the node, which joins this with the data links.
        self.joined: Callable[[Peer], None] = lambda peer: None
        self.lost: Callable[[Peer], None] = lambda peer: None
        self.needs_login: Callable[[Peer], bool] = lambda peer: False

    def of(self, conn: Conn) -> Peer | None:
        """Whose connection it is, if it is a node's and still wanted."""
        return self.peers.get(conn.owner)

    def alive(self) -> list[Peer]:
        """Peers that can be asked something: alive, and not shut out by either side."""
        return [p for p in self.peers.values() if p.alive and p.link.state is not State.NOT_ALLOWED]

    def named(self, name: str) -> Peer | None:
        """The peer of that name; where several had it, the one that is alive."""
        if not self._names:
            ordered = sorted(self.peers.values(), key=lambda p: (p.alive, p.node.boot))
            self._names = {peer.node.name: peer for peer in ordered}
        return self._names.get(name)

    # --- handshakes -------------------------------------------------------------------------------------

    def admit(self, conn: Conn, h: Hello) -> Peer | Refuse:
        """A node says HELLO: control or data."""
        if h.node is None or len(h.node.uuid) != 16:
            return Refuse("MALFORMED", "a node introduces itself with a uuid of 16 bytes", final=True)
        if h.node.uuid == self._desk.me.uuid:
            text = f"{h.node.name} has the identity of this node"
            return Refuse("SAME_UUID", text, "Was a data directory copied? Remove one.", final=True)
        refusal = self._hear(h.node)
        if refusal is not None:
            return refusal
        peer = self.peers[h.node.uuid]
        both_dial = peer.dials[h.role] is not None and peer.conns[h.role] is None
        if both_dial and keep_mine(self._desk.me.uuid, h.node.uuid, True):
            return Refuse("DUEL", "both dialled; the connection of the lower uuid stays")
        conn.role = h.role
        self._dialler.take(peer, conn)
        return peer

    def entered(self, conn: Conn, node: Introduction) -> Peer | None:
        """Our own HELLO was welcomed; None when this connection is not needed after all."""
        self._dialler.seed_answered(conn)
        dialled = self.of(conn)
        if conn.seed:
            self._happened(self._sighted(node, "seed"))
        if self._hear(node) is not None:
            self._dialler.ended(conn, dialled)
            self._desk.hang_up(conn)
            return None
        peer = self.peers[node.uuid]
        if dialled is not None and dialled is not peer:  # another node lives at that address now
            self._dialler.ended(conn, dialled)
        rival = peer.conns[conn.role]
        if rival is not None and not keep_mine(self._desk.me.uuid, node.uuid, True):
            peer.dials[conn.role] = None
            self._desk.hang_up(conn)
            return None
        self._dialler.take(peer, conn)
        return peer

    def rejected(self, conn: Conn, r: Refuse) -> None:
        """Our HELLO was refused."""
        peer, now = self.of(conn), self._desk.now
        if conn.seed and r.final:
            self._dialler.seed_refused(conn, is_us=r.code == "SAME_UUID")
        if r.code == "NAME_IN_USE" and r.final and now - self._born < YOUNG:
            self._desk.emit(Stop(f"{r.reason}. {r.hint}", r.code))
        elif r.code not in ("DUEL", "SAME_UUID"):
            self._desk.note("warning", f"{conn.endpoint} refused us: {r.reason} {r.hint} [{r.code}]")
        if peer is not None and conn.role == NODE_DATA and r.code != "DUEL":
            peer.dials[NODE_DATA] = None
            self._dialler.apply(peer, peer.link.refused(now, r.code, r.reason))
        else:
            self._dialler.ended(conn, peer)

    def ended(self, conn: Conn) -> None:
        """A connection to or from a node is gone."""
        self._dialler.ended(conn, self.of(conn))

    # --- hearing ----------------------------------------------------------------------------------------

    def _hear(self, node: Introduction) -> Refuse | None:
        events = self.membership.hear(node.uuid, node.name, node.boot, node.address, self._desk.now)
        for event in events:
            if isinstance(event, NameClash):
                return self._name_in_use(event)
        self._happened(events)
        known = self.peers.get(node.uuid)
        if known is None:
            return Refuse("TOO_MANY_NODES", f"this node knows {len(self.peers)} others already")
        if node.boot < known.node.boot:
            return Refuse("OLD_BOOT", f"{node.name} was here with boot {known.node.boot} already", final=True)
        return None

    def _name_in_use(self, clash: NameClash) -> Refuse:
        holder, name = clash.holder, clash.newcomer.name
        answers = holder.uuid == self._desk.me.uuid or self._answers(self.peers[holder.uuid], holder.heard)
        text = f"the name {name!r} belongs to a live node at {holder.address or 'an unknown address'}"
        return Refuse("NAME_IN_USE", text, "Start one of them with another --id.", final=answers)

    def _answers(self, holder: Peer, heard: float) -> bool:
        """Has it been heard since somebody first asked for its name? It may be dead already, unnoticed."""
        if self._desk.now - holder.probed > self._desk.settings.silence:
            holder.probed = self._desk.now
            self._dialler.ping(holder)
        return heard > holder.probed

    def heard(self, peer: Peer) -> None:
        """Anything from it is a sign of life."""
        n = peer.node
        self._happened(self.membership.hear(n.uuid, n.name, n.boot, n.address, self._desk.now))

    def introduced(self, nodes: tuple[Introduction, ...]) -> None:
        """Somebody tells us of others."""
        for n in nodes:
            if len(n.uuid) != 16:
                raise RemoteError("an introduction without a uuid of 16 bytes")
            if n.uuid != self._desk.me.uuid and n.address:
                self._happened(self._sighted(n, "hello"))

    def _sighted(self, n: Introduction, via: str) -> list[Event]:
        return self.membership.sight(n.uuid, n.name, n.boot, n.address, via, self._desk.now)

    def goodbye(self, conn: Conn, peer: Peer, command: Bye) -> None:
        """The node goes, or only one of its connections."""
        self._desk.hang_up(conn)
        self._dialler.ended(conn, peer)
        if command.reason != REPLACED:
            self._happened(self.membership.leave(peer.node.uuid, peer.node.boot, self._desk.now))

    def others(self, than: bytes) -> tuple[Introduction, ...]:
        """Whom a newcomer should know."""
        return tuple(p.node for p in self.peers.values() if p.alive and p.node.uuid != than)

    # --- what follows -----------------------------------------------------------------------------------

    def _happened(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, NameClash):
                continue
            m = event.member
            node = Introduction(m.uuid, m.name, m.boot, m.address)
            peer = self.peers.get(m.uuid)
            if peer is None:
                peer = self.peers[m.uuid] = self._made(node)
                wait = 0.0 if self._desk.me.uuid < m.uuid else HEAD_START
                peer.next_control = self._desk.now + wait
                self._desk.wake(peer.next_control)
            peer.node = node
            self._names = {}
            self._react(peer, event)
            self._names = {}

    def _react(self, peer: Peer, event: Event) -> None:
        now, dialler = self._desk.now, self._dialler
        if isinstance(event, Sighted):
            peer.next_control = min(peer.next_control, now + HEAD_START)
            self._desk.wake(peer.next_control)
            return
        self._desk.note("info", f"{type(event).__name__.lower()} {peer.node.name} (boot {peer.node.boot})")
        match event:
            case Joined():
                peer.alive = True
                dialler.apply(peer, peer.link.restarted(now))
                self.joined(peer)
                self._announce(peer)
            case Restarted():
                dialler.drop(peer, NODE_CONTROL)
                self.lost(peer)
                if peer.link.is_dialling and peer.dials[NODE_DATA] is None:
                    dialler.apply(peer, peer.link.disconnected(now))  # the old one was asked to
                dialler.apply(peer, peer.link.restarted(now))
                self.joined(peer)
                self._announce(peer)
            case Moved():
                dialler.apply(peer, peer.link.address(now))
            case Dead() | Left():
                peer.alive = False
                gone = peer.link.silence(now) if isinstance(event, Dead) else peer.link.bye(now)
                dialler.apply(peer, gone)
                dialler.drop(peer, NODE_CONTROL)
                self.lost(peer)

    def _announce(self, newcomer: Peer) -> None:
        """Tell the others of it."""
        for peer in self.peers.values():
            if peer is not newcomer:
                self._desk.send(peer.control, Peers((newcomer.node,)))

    # --- time -------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._born = self._desk.now

    def settled(self) -> bool:
        """Has everybody we were told of answered, or have we waited long enough for a first view?"""
        if self._desk.now - self._born >= FIRST_VIEW:
            return True
        hearsay = any(member.state is Presence.SEEN for member in self.membership.all())
        return not self._dialler.unheard and not hearsay

    def tick(self) -> None:
        """Dial, ping and give up what is due."""
        now, dialler = self._desk.now, self._dialler
        for conn in dialler.unfinished():
            self._desk.hang_up(conn)
            self.ended(conn)
        self._happened(self.membership.tick(now))
        dialler.seeds({p.node.address for p in self.peers.values() if p.alive})
        for peer in self.peers.values():
            if now >= peer.pinged + self._interval(peer):
                dialler.ping(peer)
            dialler.sight(peer)
            dialler.apply(peer, peer.link.tick(now))
            self.review_login(peer)

    def review_login(self, peer: Peer) -> None:
        """Is the data connection needed? Logins are lazy."""
        if peer.alive and not peer.link.is_wanted and self.needs_login(peer):
            self._dialler.apply(peer, peer.link.wanted(self._desk.now))

    def _interval(self, peer: Peer) -> float:
        s = self._desk.settings
        return s.pings.get(peer.node.name, s.ping)

    def deadline(self) -> float:
        """When tick() is next worth calling."""
        times = [self._desk.now + self._desk.settings.ping, *self._dialler.deadlines()]
        times += [p.pinged + self._interval(p) for p in self.peers.values() if p.control is not None]
        for peer in self.peers.values():
            if peer.node.address and peer.control is None and peer.dials[NODE_CONTROL] is None:
                times.append(peer.next_control)
            link = peer.link.deadline()
            if link is not None:
                times.append(link)
        if not self.settled():
            times.append(self._born + FIRST_VIEW)
        silence = self.membership.deadline()
        return min(times if silence is None else (*times, silence))
