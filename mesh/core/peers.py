"""Which other nodes are there, and what connects us? Sight, control connections, logins."""

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
from mesh.core.effects import Dial, Stop
from mesh.core.peer import Peer
from mesh.core.settings import CONNECT
from mesh.errors import RemoteError
from mesh.links.backoff import delay
from mesh.links.duel import keep_mine
from mesh.links.table import Action, State
from mesh.wire.commands import (
    NODE_CONTROL,
    NODE_DATA,
    Bye,
    Hello,
    Introduction,
    Login,
    Peers,
    Ping,
    Pong,
    Refuse,
)

HEAD_START = 0.3  # s that the lower uuid has to dial first, so that both seldom dial at once
YOUNG = 30.0  # s: a node this young gives way when its name is taken


class Neighbours:
    """All peers that were sighted. `knock` says HELLO on a fresh connection; `made` builds a peer."""

    def __init__(
        self, desk: Desk, made: Callable[[Introduction], Peer], knock: Callable[[Conn], None]
    ) -> None:
        me = desk.me
        self.peers: dict[bytes, Peer] = {}
        self.membership = Membership(
            Member(me.uuid, me.name, me.boot, me.address, "self", Presence.ALIVE, 0.0), desk.settings.silence
        )
        self.conns: dict[object, Conn] = {}
        self._desk = desk
        self._made = made
        self._knock = knock
        self._seeds: dict[str, tuple[float, int]] = dict.fromkeys(desk.settings.seeds, (0.0, 0))  # next try, attempt
        self._seed_conns: dict[str, Conn] = {}
        self._dialled = 0
        self._born = 0.0
        # Set by the node, which joins this with the data links.
        self.logged_out: Callable[[Peer], None] = lambda peer: None
        self.joined: Callable[[Peer], None] = lambda peer: None
        self.lost: Callable[[Peer], None] = lambda peer: None
        self.needs_login: Callable[[Peer], bool] = lambda peer: False

    def alive(self) -> list[Peer]:
        """Peers that can be asked something: alive, and not shut out by either side."""
        return [p for p in self.peers.values() if p.alive and p.link.state is not State.NOT_ALLOWED]

    # --- hearing ------------------------------------------------------------------------------------

    def admit(self, conn: Conn, h: Hello) -> Peer | Refuse:
        """A node says HELLO: control or data."""
        if h.node is None or len(h.node.uuid) != 16:
            return Refuse("MALFORMED", "a node introduces itself with a uuid of 16 bytes", final=True)
        if h.node.uuid == self._desk.me.uuid:
            return Refuse(
                "SAME_UUID",
                f"{h.node.name} has the identity of this node",
                "Is it this very node?",
                final=True,
            )
        refusal = self._hear(h.node)
        if refusal is not None:
            return refusal
        peer = self.peers[h.node.uuid]
        mine = peer.dials[h.role]
        if (
            mine is not None
            and peer.conns[h.role] is None
            and keep_mine(self._desk.me.uuid, h.node.uuid, True)
        ):
            return Refuse("DUEL", "both dialled; the connection of the lower uuid stays")
        self._take(peer, h.role, conn)
        return peer

    def entered(self, conn: Conn, node: Introduction) -> Peer | None:
        """Our own HELLO was welcomed; None when the other is nobody to talk to."""
        if conn.seed:
            self._seeds[conn.seed] = (0.0, 0)
        if self._hear(node) is not None:
            self._desk.hang_up(conn)
            return None
        peer = self.peers[node.uuid]
        if conn.peer is not None and conn.peer is not peer:  # another node lives at that address now
            conn.peer.dials[conn.role] = None
            conn.peer.link.disconnected(self._desk.now)
        rival = peer.conns[conn.role]
        if rival is not None and not conn.seed and not keep_mine(self._desk.me.uuid, node.uuid, True):
            self._desk.hang_up(conn)
            peer.dials[conn.role] = None
            return None
        self._take(peer, conn.role, conn)
        return peer

    def _take(self, peer: Peer, role: str, conn: Conn) -> None:
        for old in (peer.conns[role], peer.dials[role]):
            if old is not None and old is not conn:
                self._forget(old)
        peer.conns[role], peer.dials[role] = conn, None
        conn.peer = peer
        if role == NODE_CONTROL:
            peer.control_attempt = 0
            peer.pinged = 0.0

    def _forget(self, conn: Conn) -> None:
        """Close it, and want no notice of its end."""
        conn.peer = None
        self._desk.send(conn, Bye("replaced"))
        self._desk.hang_up(conn)

    def _hear(self, node: Introduction) -> Refuse | None:
        events = self.membership.hear(node.uuid, node.name, node.boot, node.address, self._desk.now)
        for event in events:
            if isinstance(event, NameClash):
                answers = self._desk.now - event.holder.heard <= 2 * self._desk.settings.ping
                is_me = event.holder.uuid == self._desk.me.uuid
                hint = "Start one of them with another --id."
                text = (
                    f"the name {node.name!r} belongs to a live node ({event.holder.address or 'no address'})"
                )
                return Refuse("NAME_IN_USE", text, hint, final=answers or is_me)
        self._happened(events)
        if node.uuid not in self.peers:
            return Refuse("TOO_MANY_NODES" if self.membership.no_room else "OLD_BOOT", "not admitted")
        return None

    def heard(self, peer: Peer) -> None:
        """Anything from it is a sign of life."""
        n = peer.node
        self._happened(self.membership.hear(n.uuid, n.name, n.boot, n.address, self._desk.now))

    def introduced(self, nodes: tuple[Introduction, ...], via: str = "hello") -> None:
        """Somebody tells us of others."""
        for n in nodes:
            if len(n.uuid) != 16:
                raise RemoteError("an introduction without a uuid of 16 bytes")
            if n.uuid != self._desk.me.uuid and n.address:
                self._happened(self.membership.sight(n.uuid, n.name, n.boot, n.address, via, self._desk.now))

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
            self._react(peer, event)

    def _react(self, peer: Peer, event: Event) -> None:
        now = self._desk.now
        if isinstance(event, Sighted):
            peer.next_control = min(peer.next_control, now + HEAD_START)
            self._desk.wake(peer.next_control)
            return
        self._desk.note("info", f"{type(event).__name__.lower()} {peer.node.name} (boot {peer.node.boot})")
        if isinstance(event, Joined | Restarted):
            peer.alive = True
            self.apply(peer, peer.link.restarted(now))
            self.joined(peer)
            self.announce(peer)
        elif isinstance(event, Moved):
            self.apply(peer, peer.link.address(now))
        elif isinstance(event, Dead | Left):
            peer.alive = False
            step = peer.link.silence if isinstance(event, Dead) else peer.link.bye
            self.apply(peer, step(now))
            self.drop(peer, NODE_CONTROL)
            self.lost(peer)

    def announce(self, newcomer: Peer) -> None:
        """Tell the others of it."""
        for peer in self.peers.values():
            if peer is not newcomer:
                self._desk.send(peer.control, Peers((newcomer.node,)))

    def others(self, than: bytes) -> tuple[Introduction, ...]:
        """Whom a newcomer should know."""
        return tuple(p.node for p in self.peers.values() if p.alive and p.node.uuid != than)

    # --- dialling -----------------------------------------------------------------------------------

    def apply(self, peer: Peer, actions: tuple[Action, ...]) -> None:
        """Do what the link table asks for."""
        for action in actions:
            if action is Action.DIAL:
                self._dial_data(peer)
            elif action is Action.HANG_UP:
                self.drop(peer, NODE_DATA)
            elif action is Action.PROBE:
                self.ping(peer)
            elif action is Action.NOTE:
                state = peer.link.describe(self._desk.now)
                self._desk.note("warning", f"{peer.node.name}: {state}: {peer.link.reason}")
        self._desk.wake(peer.link.deadline())

    def _dial_data(self, peer: Peer) -> None:
        if peer.control is not None and not peer.control.dialled:
            # It reached us; whether we could reach it, nobody knows. Who dialled once dials again.
            self._desk.send(peer.control, Login())
        elif peer.node.address:
            peer.dials[NODE_DATA] = self._dial(peer.node.address, NODE_DATA, peer)

    def _dial(self, address: str, role: str, peer: Peer | None, seed: str = "") -> Conn:
        self._dialled += 1
        now = self._desk.now
        conn = Conn(self._dialled, True, not address.startswith("tcp:"), address, now, now, role, seed=seed)
        conn.peer = peer
        self.conns[conn.key] = conn
        self._desk.emit(Dial(conn.key, address))
        self._knock(conn)
        return conn

    def drop(self, peer: Peer, role: str) -> None:
        """Close what there is of this kind, and tell nobody."""
        for table in (peer.conns, peer.dials):
            conn = table[role]
            if conn is not None:
                table[role] = None
                self._forget(conn)
        if role == NODE_DATA:
            self.logged_out(peer)

    def ended(self, conn: Conn) -> None:
        """A connection to or from a node is gone, or was refused for now."""
        peer = conn.peer
        if conn.seed:
            self._seed_conns.pop(conn.seed, None)
        if peer is None:
            return
        for table in (peer.conns, peer.dials):
            if table[conn.role] is conn:
                table[conn.role] = None
                if conn.role == NODE_DATA:
                    self.logged_out(peer)
                    self.apply(peer, peer.link.disconnected(self._desk.now))
                else:
                    self._retry_control(peer)

    def rejected(self, conn: Conn, r: Refuse) -> None:
        """Our HELLO was refused."""
        peer, now = conn.peer, self._desk.now
        if r.code == "SAME_UUID":
            self._seeds.pop(conn.seed, None)  # we dialled ourselves
            return
        if r.code == "NAME_IN_USE" and r.final and now - self._born < YOUNG:
            self._desk.emit(Stop(f"{r.reason}. {r.hint}", r.code))
        elif r.code != "DUEL":
            self._desk.note("warning", f"{conn.endpoint} refused us: {r.reason} {r.hint} [{r.code}]")
        if peer is not None and conn.role == NODE_DATA and r.code != "DUEL":
            peer.dials[NODE_DATA] = None
            self.apply(peer, peer.link.refused(now, r.code, r.reason))
            return
        if conn.seed and r.final:
            self._seeds[conn.seed] = (now + self._desk.settings.backoff_max, 8)
        self.ended(conn)

    def ping(self, peer: Peer) -> None:
        if peer.control is not None:
            peer.pinged = self._desk.now
            self._desk.send(peer.control, Ping(int(self._desk.now * 1e6)))

    def pong(self, peer: Peer, p: Pong) -> None:
        peer.rtt = max(0.0, self._desk.now - p.stamp / 1e6)

    def _retry_control(self, peer: Peer) -> None:
        s = self._desk.settings
        peer.control_attempt += 1
        wait = delay(peer.control_attempt, self._desk.jitter(), low=s.backoff_min, high=s.backoff_max)
        peer.next_control = self._desk.now + wait
        self._desk.wake(peer.next_control)

    # --- time -----------------------------------------------------------------------------------------

    def start(self) -> None:
        self._born = self._desk.now

    def tick(self) -> None:
        """Dial, ping and give up what is due."""
        now = self._desk.now
        for conn in [c for c in self.conns.values() if not c.is_open and now - c.opened > CONNECT]:
            self._desk.hang_up(conn)
            self.ended(conn)
        self._happened(self.membership.tick(now))
        self._dial_seeds()
        for peer in self.peers.values():
            if peer.control is not None and now - peer.pinged >= self._desk.settings.ping:
                self.ping(peer)
            self._sight(peer)
            self.apply(peer, peer.link.tick(now))
            if peer.alive and not peer.link.is_wanted and self.needs_login(peer):
                self.apply(peer, peer.link.wanted(now))

    def _sight(self, peer: Peer) -> None:
        """Keep a control connection to everybody we know of."""
        idle = peer.control is None and peer.dials[NODE_CONTROL] is None
        if idle and peer.node.address and self._desk.now >= peer.next_control:
            peer.dials[NODE_CONTROL] = self._dial(peer.node.address, NODE_CONTROL, peer)
            self._retry_control(peer)

    def _dial_seeds(self) -> None:
        s, now = self._desk.settings, self._desk.now
        known = {p.node.address for p in self.peers.values()}
        for address, (due, attempt) in self._seeds.items():
            if address in known or address in self._seed_conns or now < due:
                continue
            wait = delay(attempt + 1, self._desk.jitter(), low=s.backoff_min, high=s.backoff_max)
            self._seeds[address] = (now + wait, attempt + 1)
            self._seed_conns[address] = self._dial(address, NODE_CONTROL, None, seed=address)

    def deadline(self) -> float:
        """When tick() is next worth calling."""
        s, now = self._desk.settings, self._desk.now
        times = [now + s.ping]
        times += [due for a, (due, _) in self._seeds.items() if a not in self._seed_conns and due > now]
        times += [c.opened + CONNECT for c in self.conns.values() if not c.is_open]
        for peer in self.peers.values():
            if peer.control is None and peer.dials[NODE_CONTROL] is None:
                times.append(peer.next_control)
            link = peer.link.deadline()
            if link is not None:
                times.append(link)
        silence = self.membership.deadline()
        return min(times if silence is None else (*times, silence))
