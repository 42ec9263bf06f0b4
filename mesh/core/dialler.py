"""Connections to other nodes: dial, replace, drop, and dial again."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from mesh.core.conn import Conn
from mesh.core.desk import Desk
from mesh.core.effects import Dial
from mesh.core.peer import Peer
from mesh.core.settings import CONNECT
from mesh.links.backoff import delay
from mesh.links.table import Action
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Bye, Login, Ping, Pong

PATIENT = 4  # dials of a seed before that is worth a word
REPLACED = "replaced"  # a goodbye of one connection only


class Dialler:
    """Every connection of this core is in `conns`. `knock` says HELLO on a fresh one."""

    def __init__(self, desk: Desk, knock: Callable[[Conn], None]) -> None:
        self.conns: dict[Hashable, Conn] = {}
        self.logged_out: Callable[[Peer], None] = lambda peer: None  # set by the node
        self._desk = desk
        self._knock = knock
        self._dialled = 0
        self._seeds = dict.fromkeys(desk.settings.seeds, (0.0, 0))  # address -> when next, attempt
        self._seed_conns: dict[str, Conn] = {}
        self.unheard = set(self._seeds)  # seeds from which no answer has come yet
        self._known: set[str] = set()  # addresses at which a peer lives

    # --- one peer -------------------------------------------------------------------------------------

    def apply(self, peer: Peer, actions: tuple[Action, ...]) -> None:
        """Do what the link table asks for."""
        for action in actions:
            if action is Action.DIAL:
                self._login(peer)
            elif action is Action.HANG_UP:
                self.drop(peer, NODE_DATA)
            elif action is Action.PROBE:
                self.ping(peer)
            elif action is Action.NOTE:
                state = peer.link.describe(self._desk.now)
                self._desk.note("warning", f"{peer.node.name}: {state}: {peer.link.reason}")
        self._desk.wake(peer.link.deadline())

    def _login(self, peer: Peer) -> None:
        if peer.control is not None and not peer.control.dialled:
            # It reached us; whether we could reach it, nobody knows. Who dialled once dials again.
            self._desk.send(peer.control, Login())
        elif peer.node.address:
            peer.dials[NODE_DATA] = self._dial(peer.node.address, NODE_DATA, peer.node.uuid)

    def take(self, peer: Peer, conn: Conn) -> None:
        """This is the peer's connection of its kind from now on."""
        for old in (peer.conns[conn.role], peer.dials[conn.role]):
            if old is not None and old is not conn:
                self._forget(old)
        peer.conns[conn.role], peer.dials[conn.role] = conn, None
        conn.owner = peer.node.uuid
        if conn.role == NODE_CONTROL:
            peer.control_attempt = 0
            peer.pinged = 0.0

    def drop(self, peer: Peer, role: str) -> None:
        """Close what there is of this kind, and want no notice of its end."""
        for table in (peer.conns, peer.dials):
            conn = table[role]
            if conn is not None:
                table[role] = None
                self._forget(conn)
        if role == NODE_DATA:
            self.logged_out(peer)

    def _forget(self, conn: Conn) -> None:
        conn.owner = b""
        self._desk.send(conn, Bye(REPLACED))
        self._desk.hang_up(conn)

    def ended(self, conn: Conn, peer: Peer | None) -> None:
        """A connection to or from a node is gone, or was refused for now."""
        if conn.seed:
            self._seed_conns.pop(conn.seed, None)
            self._desk.wake(self._seeds.get(conn.seed, (self._desk.now, 0))[0])
        if peer is None or conn not in (peer.conns[conn.role], peer.dials[conn.role]):
            return
        for table in (peer.conns, peer.dials):
            if table[conn.role] is conn:
                table[conn.role] = None
        if conn.role == NODE_DATA:
            self.logged_out(peer)
            self.apply(peer, peer.link.disconnected(self._desk.now))
        else:
            self._retry_control(peer)

    def ping(self, peer: Peer) -> None:
        """A sign of life; and a connection of which only the other end knows that it is over shows it now."""
        peer.pinged = self._desk.now
        self._desk.send(peer.control, Ping(int(self._desk.now * 1e6)))
        self._desk.send(peer.data, Ping(0))

    def pong(self, peer: Peer, p: Pong) -> None:
        if not p.stamp:
            return  # it may have waited behind messages
        peer.rtt = max(0.0, self._desk.now - p.stamp / 1e6)

    # --- dialling ---------------------------------------------------------------------------------------

    def _dial(self, address: str, role: str, owner: bytes, seed: str = "") -> Conn:
        self._dialled += 1
        now, is_tcp = self._desk.now, address.startswith("tcp:")
        conn = Conn(self._dialled, True, not is_tcp, address, now, now, role, owner=owner, seed=seed)
        self.conns[conn.key] = conn
        self._desk.emit(Dial(conn.key, address))
        self._knock(conn)
        self._desk.wake(now + CONNECT)
        return conn

    def _wait(self, attempt: int) -> float:
        s = self._desk.settings
        return delay(attempt, self._desk.jitter(), low=s.backoff_min, high=s.backoff_max)

    def _retry_control(self, peer: Peer) -> None:
        peer.control_attempt += 1
        peer.next_control = self._desk.now + self._wait(peer.control_attempt)
        self._desk.wake(peer.next_control)

    def sight(self, peer: Peer) -> None:
        """Keep a control connection to everybody we know of."""
        idle = peer.control is None and peer.dials[NODE_CONTROL] is None
        if idle and peer.node.address and self._desk.now >= peer.next_control:
            peer.dials[NODE_CONTROL] = self._dial(peer.node.address, NODE_CONTROL, peer.node.uuid)

    def seeds(self, known: set[str]) -> None:
        """Dial the addresses we were given, as long as nobody known lives there."""
        now, self._known = self._desk.now, known
        self.unheard -= known
        for address, (due, attempt) in self._seeds.items():
            if address not in known and address not in self._seed_conns and now >= due:
                self._seeds[address] = (now + self._wait(attempt + 1), attempt + 1)
                if attempt == PATIENT:
                    self._desk.note(
                        "warning", f"{address} does not answer; is a node running there? Trying on."
                    )
                self._seed_conns[address] = self._dial(address, NODE_CONTROL, b"", seed=address)

    def seed_answered(self, conn: Conn) -> None:
        self.unheard.discard(conn.seed)
        self._seed_conns.pop(conn.seed, None)
        if conn.seed in self._seeds:
            self._seeds[conn.seed] = (0.0, 0)

    def seed_refused(self, conn: Conn, is_us: bool) -> None:
        """Nobody to talk to lives there: ask rarely, or never if it is this very node."""
        self.unheard.discard(conn.seed)
        if is_us:
            self._seeds.pop(conn.seed, None)
        elif conn.seed in self._seeds:
            self._seeds[conn.seed] = (self._desk.now + self._desk.settings.backoff_max, 8)

    def unfinished(self) -> list[Conn]:
        """Connections whose handshake takes too long."""
        return [c for c in self.conns.values() if not c.is_open and self._desk.now - c.opened >= CONNECT]

    def deadlines(self) -> list[float]:
        """When something here falls due."""
        idle = self._seeds.keys() - self._seed_conns.keys() - self._known
        times = [self._seeds[address][0] for address in idle]
        times += [c.opened + CONNECT for c in self.conns.values() if not c.is_open and not c.closed]
        return [max(time, self._desk.now) for time in times]
