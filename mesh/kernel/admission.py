"""Connects handshakes with the components for peers, clients and other roles."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from mesh.kernel.access.authenticator import Authenticator, hello_of
from mesh.kernel.client_room import ClientRoom
from mesh.kernel.context.component import Component
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.effects import Proven
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.message_fragments import MessageFragments
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.census import Censuses
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.peers.facts import Dialled, LoggedIn, RoutesChanged
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.peer_handshake import PeerHandshake
from mesh.kernel.states.recall import Recall
from mesh.kernel.subscribers.clients import Clients
from mesh.kernel.subscribers.datalink import DataLinks
from mesh.kernel.subscribers.facts import HolderGone, HolderLives
from mesh.kernel.subscribers.session import Session
from mesh.printable import count
from mesh.wire.commands import CLIENT, NODE_CONTROL, NODE_DATA, Hello, Refuse, Welcome
from mesh.wire.spoken import OF_VERSION_1


class Admission(Component):
    """Component for handshakes: builds HELLO and WELCOME, and passes on the admitted connections."""

    def __init__(
        self,
        context: NodeContext,
        dialler: Dialler,
        neighbours: Neighbours,
        meeting: PeerHandshake,
        censuses: Censuses,
        recall: Recall,
        clients: Clients,
        room: ClientRoom,
        links: DataLinks,
        piecework: MessageFragments,
    ) -> None:
        self.door = Authenticator(
            context, self._greet, self._admit, self._entered, self._rejected, self._denied, meeting.mirrored
        )
        self._context = context
        self._dialler = dialler
        self._neighbours = neighbours
        self._meeting = meeting
        self._censuses = censuses
        self._recall = recall
        self._clients = clients
        self._room = room
        self._links = links
        self._roles = context.face.connection_roles
        self._agree = piecework.agree  # on features

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(Dialled, lambda fact: self.door.knock(fact.conn)),
            on_fact(HolderLives, lambda fact: self.door.refuse_hello(fact.conn, fact.hello, fact.refusal)),
            on_fact(HolderGone, lambda fact: self.hello(fact.conn, fact.hello)),
        )

    def hello(self, conn: Conn, command: Hello) -> None:
        """Handle a HELLO of the dialing end.

        Except on control connections, the HELLO waits until the check of the store is over (`Recall`).
        """
        if command.role == NODE_CONTROL or self._recall.is_over:
            self._hello(conn, command)
        else:
            self._recall.when_over(conn, lambda: self._hello(conn, command))

    def _hello(self, conn: Conn, command: Hello) -> None:
        if conn.closed:
            return
        self.door.hello(conn, command)
        if not conn.is_open:
            return
        self._agree(conn)
        self._context.out.emit(Proven(conn.key, conn.user, conn.role in (NODE_CONTROL, NODE_DATA)))
        role = self._roles.get(conn.role)
        if role is not None:
            assert command.node is not None  # checked by the authenticator
            role.on_opened(conn, command.node)
            return
        session, peer = self._clients.session_of(conn), self._neighbours.of(conn)
        if peer is not None:
            self._meeting.connect_peer(conn, peer)
            self._censuses.compare(conn, command.alive)
        if session is not None:
            self._clients.welcomed(session, command.have if command.boot_seen == self._context.me.boot else 0)
        elif peer is not None and conn.role == NODE_DATA:
            self._logged_in(peer, conn)

    def _greet(self, conn: Conn) -> Hello:
        role = self._roles.get(conn.role)
        if role is not None:
            return role.greet(conn)
        peer, keyring = self._neighbours.of(conn), self._context.settings.keyring
        hello = replace(
            hello_of(self._context, conn, conn.role),
            passwd=keyring.passwds.get(peer.node.name, "") if peer and keyring else "",
            alive=self._neighbours.membership.count,
        )
        return self._links.greeting(peer, hello) if peer and conn.role == NODE_DATA else hello

    def _admit(self, conn: Conn, h: Hello) -> Welcome | Refuse | None:
        most, conns = self._context.settings.max_key_connections, self._dialler.conns.values()
        used = sum(each.is_open and each.user == conn.user for each in conns) if conn.user else 0
        if conn.user and used >= most:
            here = f"{count(used, 'connection')} with {self._context.me.name}"
            what = f"the key of the connecting side has {here}; the limit is {most:,}"
            hint = "Close some of them, or raise `limits.key_connections` of that node."
            return Refuse("TOO_MANY_CONNECTIONS", what, hint)
        if h.role == CLIENT:
            return self._room.refusal(conn, h) or self._admit_client(conn, h)
        if h.role in self._roles:
            return self._roles[h.role].admit(conn, h)
        peer = self._meeting.admit_peer(conn, h)
        if isinstance(peer, Refuse):
            return peer
        self._understood(conn, peer)
        welcome = Welcome(
            conn.version,
            self._context.me,
            self._context.settings.cluster,
            nodes=self._neighbours.others(peer.node.uuid),
            alive=self._neighbours.membership.count,
            speaks=self._context.face.features,
        )
        if h.role == NODE_DATA:
            conn.resume = self._links.meet(peer, h)
            return self._links.greeting(peer, welcome)
        return welcome

    def _admit_client(self, conn: Conn, h: Hello) -> Welcome | Refuse | None:
        session = self._clients.admit_client(conn, h)
        if isinstance(session, Refuse) and session.code == "TOO_MANY_SESSIONS":
            return self._room.redirect(conn, h, session)
        if not isinstance(session, Session):
            return session
        self._room.enter(conn)
        nodes, sites = self._room.others(conn, h.stream), self._room.sites(conn)
        return replace(self._clients.welcome(session, conn), nodes=nodes, sites=sites)

    def _entered(self, conn: Conn, w: Welcome) -> None:
        self._agree(conn)
        role = self._roles.get(conn.role)
        if role is not None:
            role.on_welcomed(conn, w)
            return
        peer = self._meeting.entered(conn, w.node)
        if peer is None:
            return
        self._understood(conn, peer)
        self._meeting.connect_peer(conn, peer)
        self._neighbours.introduced(w.nodes, peer)
        self._censuses.compare(conn, w.alive)
        if conn.role == NODE_DATA:
            conn.resume = self._links.meet(peer, w)
            self._logged_in(peer, conn)

    def _rejected(self, conn: Conn, r: Refuse, is_proven: bool) -> None:
        role = self._roles.get(conn.role)
        if role is not None:
            role.on_refused(conn, r)
        else:
            self._meeting.rejected(conn, r, is_proven)

    def _denied(self, conn: Conn, r: Refuse) -> None:
        role = self._roles.get(conn.role)
        if role is not None:
            role.on_refused(conn, r)
        else:
            self._meeting.denied(conn, r)

    def _understood(self, conn: Conn, peer: Peer) -> None:
        """Record the version and features of a peer, which may run another release than before."""
        news = peer.speaks ^ conn.speaks
        peer.version, peer.speaks = conn.version, conn.speaks
        if news - OF_VERSION_1:
            self._context.facts.publish_last(RoutesChanged())

    def _logged_in(self, peer: Peer, conn: Conn) -> None:
        self._dialler.apply(peer, peer.link.hello(self._context.clock.now))
        self._context.facts.publish_fact(LoggedIn(peer, conn))
