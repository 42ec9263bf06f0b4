"""Connections to other nodes: dial, replace, drop, and dial again."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from math import inf

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.effects import Dial
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import CONNECT
from mesh.kernel.peers.facts import Dialled, LoggedOut, SeedEnded
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.reach_table import ReachEvent
from mesh.kernel.peers.watchlist import Watchlist
from mesh.links.backoff import delay
from mesh.links.table import LinkAction
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Bye, Login, Ping, Pong

REPLACED = "replaced"  # reason of a BYE for one connection only
DISCONNECT = "disconnect"  # likewise, of a node that wants nothing kept for it
STRANGERS = 32  # dialed at the same time
ROOM = 0.1  # s between two checks for a free place


class Dialler:
    """Dials and replaces connections to nodes.

    All connections of this core are in `conns`.
    """

    def __init__(self, context: NodeContext) -> None:
        self.conns: dict[Hashable, Conn] = {}
        self.watchlist = Watchlist()
        self._context = context
        self._dialled = 0

    # --- connections of one peer ------------------------------------------------------------------------

    def apply(self, peer: Peer, actions: tuple[LinkAction, ...]) -> None:
        self.watchlist.add(peer)
        for action in actions:
            if action is LinkAction.DIAL:
                self._login(peer)
            elif action is LinkAction.HANG_UP:
                self.drop(peer, NODE_DATA)
            elif action is LinkAction.PROBE:
                self.ping(peer)
            elif action is LinkAction.NOTE:
                state = peer.link.describe(self._context.clock.now)
                text = f"{peer.node.name}: {state}: {peer.link.reason}"
                self._context.event("link", text, peer.node, level="warning")
        self._context.clock.wake(peer.link.deadline())

    def _login(self, peer: Peer) -> None:
        if peer.control is not None and not peer.control.dialled:
            # The peer reached this node, but the opposite may fail. The side that dialed once dials again.
            self._context.out.send(peer.control, Login())
        else:
            self._dial_data(peer)

    def _dial_data(self, peer: Peer) -> None:
        if address := peer.reached or peer.node.address:
            peer.dials[NODE_DATA].append(self.dial(address, NODE_DATA, peer.node.uuid))

    def on_data_requested(self, peer: Peer) -> None:
        """Dial the data connection that a peer asks for.

        Both sides may have asked each other to dial at the same time. In that case, both of them dial.
        """
        self.apply(peer, peer.link.wanted(self._context.clock.now))
        if _only_asks(peer):
            self._dial_data(peer)

    def reached(self, peer: Peer) -> None:
        """Continue a login over a new control connection.

        A login request on the earlier connection may have been lost with it.
        """
        if _only_asks(peer):
            self._login(peer)
        else:
            self.apply(peer, peer.link.reached(self._context.clock.now))

    def use_connection(self, peer: Peer, conn: Conn) -> None:
        """Use `conn` as the peer's connection of its role, and close the connections that it replaces."""
        if conn.role == NODE_DATA and peer.data not in (None, conn):
            # Messages sent on the earlier connection may be lost, though its end was not noticed here.
            self._context.facts.publish_fact(LoggedOut(peer))
        for old in (peer.conns[conn.role], *peer.dials[conn.role]):
            if old is not None and old is not conn:
                self._close_replaced(old)
        peer.conns[conn.role], peer.dials[conn.role] = conn, []
        conn.owner = peer.node.uuid
        self.watchlist.add(peer)
        if conn.dialled:
            peer.reached = conn.endpoint
        if conn.role == NODE_CONTROL:
            peer.reach.happens(ReachEvent.CONNECTED, self._context.clock.now)
            peer.pinged, peer.used = 0.0, self._context.clock.now

    def drop(self, peer: Peer, role: str) -> None:
        """Close all connections of this role to a peer, and ignore later notices that they ended."""
        conn, dials = peer.conns[role], peer.dials[role]
        peer.conns[role], peer.dials[role] = None, []
        for old in (conn, *dials):
            if old is not None:
                self._close_replaced(old)
        if role == NODE_DATA:
            self._context.facts.publish_fact(LoggedOut(peer))

    def _close_replaced(self, conn: Conn) -> None:
        conn.owner = b""
        self._context.out.send(conn, Bye(REPLACED))
        self._context.out.hang_up(conn)

    def on_conn_ended(self, conn: Conn, peer: Peer | None) -> None:
        """Handle the end or temporary refusal of a node's connection."""
        if conn.seed:
            self._context.facts.publish_fact(SeedEnded(conn))
        if peer is None:
            return
        was_used = peer.conns[conn.role] is conn
        if was_used:
            peer.conns[conn.role] = None
        elif conn in peer.dials[conn.role]:
            peer.dials[conn.role].remove(conn)
        else:
            return
        if conn.role == NODE_DATA:
            self._context.facts.publish_fact(LoggedOut(peer))
            self.apply(peer, peer.link.disconnected(self._context.clock.now))
        elif peer.control is None:
            if peer.reach.untried or not peer.dials[NODE_CONTROL]:
                peer.reach.happens(ReachEvent.ENDED, self._context.clock.now)
            self._context.clock.wake(peer.reach.due)

    def ping(self, peer: Peer) -> None:
        """Ping a peer on both connections, so that a broken one is noticed."""
        peer.pinged = self._context.clock.now
        self._context.out.send(
            peer.control, Ping(int(self._context.clock.now * 1e6), self._context.clock.believed)
        )
        self._context.out.send(peer.data, Ping(0, self._context.clock.believed))

    def pong(self, peer: Peer, p: Pong) -> None:
        if not p.stamp:
            return  # it may have waited behind messages
        rtt = max(0.0, self._context.clock.now - p.stamp / 1e6)
        peer.rtt += (rtt - peer.rtt) / 4 if peer.rtt else rtt  # one slow answer is not a slow node

    # --- dialing ----------------------------------------------------------------------------------------

    def dial(self, address: str, role: str, owner: bytes, seed: str = "", site: str = "") -> Conn:
        """Open a connection to `address`; `owner` is the uuid of its peer, or b"" if it is unknown."""
        self._dialled += 1
        now = self._context.clock.now
        conn = Conn(self._dialled, True, False, address, now, now, role, owner=owner, seed=seed, site=site)
        self.conns[conn.key] = conn
        self._context.out.emit(Dial(conn.key, address, site))
        self._context.facts.publish_fact(Dialled(conn))
        self._context.clock.wake(now + CONNECT)
        return conn

    def dial_delay(self, attempt: int, node: str) -> float:
        """Return the random wait in s after dial number `attempt` of the node, "" if its name is unknown."""
        s = self._context.settings
        low, high = s.of_link("backoff_min", node), s.of_link("backoff_max", node)
        return delay(attempt, self._context.jitter(), low=low, high=high)

    def sight(self, peer: Peer) -> bool:
        """Dial the control connection of a peer if it is due, and return whether it was dialed."""
        now, node, dials = self._context.clock.now, peer.node, peer.dials[NODE_CONTROL]
        if peer.control is not None or not node.address or not peer.reach.is_due(now):
            return False
        places = (peer.reached, node.address, *node.also)
        address = peer.reach.next_address(places, bool(dials), now)
        if address is None:
            return False
        dials.append(self.dial(address, NODE_CONTROL, node.uuid))
        self._context.clock.wake(peer.reach.due)
        return True

    @property
    def room(self) -> int:
        """The number of further control connections that may be dialed at the same time.

        The limit is low, as the first nodes to answer introduce the others.
        """
        dialled = (c.dialled and c.role == NODE_CONTROL and not c.seed for c in self._unanswered())
        return max(0, STRANGERS - sum(dialled))

    def _unanswered(self) -> Iterator[Conn]:
        return (c for c in self.conns.values() if not c.is_open and not c.closed)

    def unfinished(self) -> list[Conn]:
        """Return the connections whose handshake has timed out."""
        return [
            c for c in self.conns.values() if not c.is_open and self._context.clock.now - c.opened >= CONNECT
        ]

    def deadline(self) -> float:
        """Return the time when the first unfinished handshake times out, or infinity if there is none."""
        return min((c.opened + CONNECT for c in self._unanswered()), default=inf)


def _only_asks(peer: Peer) -> bool:
    """Return whether this node waits for a data connection that it has asked the peer to dial."""
    return peer.link.is_dialling and peer.data is None and not peer.dials[NODE_DATA]
