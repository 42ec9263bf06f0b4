"""Room for clients: the limits of their connections, their rate, and the nodes that they are sent to."""

# Law 1: only connections of clients count. Nodes, gateways and the program that embeds the node always enter.
# Law 2: beyond a limit, RESERVE connections remain for operators on this machine.
# Law 3: a client that replaces its own connection needs no room.
# Law 4: a client is sent only to living nodes that report room, and never to an address of this machine alone
#        unless it dialed one.

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest

from msgspec.structs import replace

from mesh.dialable import is_loopback
from mesh.errors import LocalError
from mesh.flow.rendezvous import ranked
from mesh.kernel.context.component import Component
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.states.gossiping import Gossiping
from mesh.kernel.status import address_of
from mesh.kernel.subscribers.session import Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.printable import count
from mesh.wire.commands import Hello, Introduction, Refuse
from mesh.wire.limits import OPERATOR
from mesh.wire.limits import VISITS as CAN_MOVE

RESERVE = 8  # connections beyond a limit, for local operators
OFFERED = 8  # nodes in a WELCOME or REFUSE
CONSIDERED = 64  # nodes with most room, of which these are chosen
FRESH = 1.0  # s until the nodes with room are looked up again
VISITS = 500  # new sessions a second
LATEST = 30.0  # s, the longest wait that a refusal asks for
UNKNOWN = 1  # weight of a node of an earlier release, which does not report its room


class VisitRate:
    """Admits at most VISITS a second, and spreads the others over the following seconds."""

    def __init__(self) -> None:
        self._since = float("-inf")  # begin of the current second
        self._admitted = 0
        self._refused = 0  # asked to retry after the current second

    def wait(self, now: float) -> float:
        """Count a visit at the time `now`; return 0 if it is admitted, else the seconds to wait."""
        if not 0 <= now - self._since < 1:
            self._refused = max(0, self._refused - VISITS) if now - self._since < 2 else 0
            self._since, self._admitted = now, 0
        if self._admitted < VISITS:
            self._admitted += 1
            return 0.0
        seconds = self._refused // VISITS
        self._refused += 1
        return min(self._since + 1 - now + seconds, LATEST)


class ClientRoom(Component):
    """Component that limits the connections of clients, and names other nodes with room."""

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, gossiping: Gossiping, sessions: Sessions
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._gossiping = gossiping
        self._sessions = sessions
        self._open: dict[str, dict[Conn, None]] = {}  # by endpoint; closed ones are dropped when counted
        self._rate = VisitRate()
        self._roomy: dict[bytes, tuple[Peer, int]] = {}  # by uuid: nodes with their room
        self._looked = float("-inf")

    def figures(self) -> dict[str, int | float]:
        used = self._connected()
        is_leaving = self._context.leaving.is_on
        room = 0 if is_leaving else max(0, self._context.settings.max_connections - used)
        return {"client_connections": used, "client_room": room}

    def refusal(self, conn: Conn, h: Hello) -> Refuse | None:
        """Return a refusal if there is no room for the client that sent a HELLO, otherwise `None`."""
        session = self._sessions.by_stream.get(h.stream)
        is_replacing = session is not None and session.conn is not None and not session.conn.closed
        if conn.within or is_replacing:
            return None
        is_operator = conn.trusted and OPERATOR in h.speaks
        if self._context.leaving.is_on and session is None and OPERATOR not in h.speaks:
            what = f"{self._context.me.name} is being drained, and accepts no new clients"
            hint = f"`mesh drain --cancel --url {self._context.me.name}` ends the drain."
            return self.redirect(conn, h, Refuse("NODE_DRAINING", what, hint))
        if what := self._excess(conn.endpoint, RESERVE if is_operator else 0):
            self._context.counters.add_count("node_full")
            refusal = Refuse("NODE_FULL", what, "Close some clients of this node, or raise the limit.")
            return self.redirect(conn, h, refusal)
        if session is not None or is_operator or (wait := self._rate.wait(self._context.clock.now)) == 0:
            return None
        self._context.counters.add_count("node_busy")
        text = f"{self._context.me.name} admits at most {VISITS} new clients a second, and more are arriving"
        hint = f"The client dials again after {wait:.1f} s."
        return Refuse("NODE_BUSY", text, hint, retry_ms=max(1, round(1000 * wait)))

    def check_new_service(self, conn: Conn, session: Session) -> None:
        """Check that a client may begin to serve an address. Raises: LocalError if the client is to leave."""
        can_move = CAN_MOVE in conn.speaks and not (conn.within or session.is_operator)
        if not (self._context.leaving.is_on and can_move):
            return
        others = self.others(conn, session.stream)
        if others:
            what = f"{self._context.me.name} is being drained, and accepts no new services."
            hint = f"Dial {others[0].name}: {others[0].address}."
            raise LocalError(what, hint=hint, code="NODE_DRAINING")

    def enter(self, conn: Conn) -> None:
        """Count the connection of an admitted client."""
        if not conn.within:
            self._open.setdefault(conn.endpoint, {})[conn] = None

    @property
    def has_others(self) -> bool:
        """True if another node has room for clients, as far as this node knows."""
        return bool(self._with_room())

    def others(self, conn: Conn, stream: bytes) -> tuple[Introduction, ...]:
        """Return the nodes that the client on `conn` may dial in place of this one, the best one first.

        Each client gets another order, so that the clients of a node that dies spread over the others.
        """
        is_near = conn.trusted or is_loopback(conn.endpoint)
        found = self._with_room()
        order = ranked(stream, {uuid: room for uuid, (peer, room) in found.items() if peer.alive})
        nodes = (_as_seen(found[uuid][0], is_near) for uuid in order)
        return tuple(node for node in nodes if node is not None)[:OFFERED]

    def sites(self, conn: Conn) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the other sites to which the client on `conn` may go, with addresses that it can dial."""
        is_near = conn.trusted or is_loopback(conn.endpoint)
        rows = self._context.settings.site.clients.items()
        return tuple(
            (site, tuple(it for it in found if is_near or not is_loopback(it))) for site, found in rows
        )

    def redirect(self, conn: Conn, h: Hello, refusal: Refuse) -> Refuse:
        """Add the addresses of nodes with room to a refusal of a client for which this node has none."""
        # The operator's commands are for this node, and must not reach another one.
        others = () if refusal.final or OPERATOR in h.speaks else self.others(conn, h.stream)
        if not others:
            return refusal
        forward = tuple(node.address for node in others)
        return replace(refusal, hint=f"Dial {others[0].name}: {forward[0]}. {refusal.hint}", forward=forward)

    def _excess(self, endpoint: str, reserve: int) -> str:
        """Return which limit has been reached, or "" if there is room."""
        s, name = self._context.settings, self._context.me.name
        most = s.max_connections + reserve
        # Closed connections are dropped only when the limit seems to be reached.
        if sum(map(len, self._open.values())) >= most and (used := self._connected()) >= most:
            limit = f"the limit is {s.max_connections:,} (node.max_connections)"
            return f"{name} has {count(used, 'connection')} of clients, and {limit}"
        limited, here = s.address_connections.get(endpoint), self._open.get(endpoint, {})
        if limited is None or len(here) < limited + reserve:
            return ""
        if (used := _drop_closed(here)) >= limited + reserve:
            limit = f"the limit is {limited:,} (node.address_max_connections)"
            return f"{endpoint} of {name} has {count(used, 'connection')} of clients, and {limit}"
        return ""

    def _connected(self) -> int:
        return sum(map(_drop_closed, self._open.values()))

    def _with_room(self) -> dict[bytes, tuple[Peer, int]]:
        now = self._context.clock.now
        if not 0 <= now - self._looked < FRESH:
            most = nlargest(CONSIDERED, self._roomy_peers(), key=lambda row: row[1])
            self._roomy = {peer.node.uuid: (peer, room) for peer, room in most}
            self._looked = now
        return self._roomy

    def _roomy_peers(self) -> Iterator[tuple[Peer, int]]:
        known = self._gossiping.gossip.known
        for peer in self._neighbours.living_peers():
            report = known.get(peer.node.uuid)
            room = -1 if report is None else report.state.room
            if not peer.suspect and room != 0:
                yield peer, room if room > 0 else UNKNOWN


def _drop_closed(conns: dict[Conn, None]) -> int:
    """Drop the closed connections, and return the number of the others."""
    for conn in [conn for conn in conns if conn.closed]:
        del conns[conn]
    return len(conns)


def _as_seen(peer: Peer, is_near: bool) -> Introduction | None:
    """Return the introduction of a peer with the addresses that a client can dial, `None` without one."""
    known = dict.fromkeys(filter(None, (address_of(peer), peer.node.address, *peer.node.also)))
    usable = [address for address in known if is_near or not is_loopback(address)]
    if not usable:
        return None
    first, *also = usable
    node = peer.node
    return Introduction(node.uuid, node.name, node.boot, first, tuple(also[:OFFERED]), key=node.key)
