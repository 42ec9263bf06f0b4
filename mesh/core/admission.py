"""Who is at the other end, and what must both know of each other before they go on?"""

from __future__ import annotations

from typing import Any

from mesh.core.census import Censuses
from mesh.core.clients import Clients
from mesh.core.conn import Conn
from mesh.core.datalink import DataLinks
from mesh.core.desk import Desk
from mesh.core.dialler import Dialler
from mesh.core.door import SOFTWARE, Door
from mesh.core.effects import Proven
from mesh.core.meeting import Meeting
from mesh.core.neighbours import Neighbours
from mesh.core.peer import Peer
from mesh.wire.commands import CLIENT, NODE_DATA, Hello, Refuse, Welcome
from mesh.wire.limits import VERSION_MAX, VERSION_MIN


class Admission:
    """The two ends of each handshake, after the door has found that the other may come in."""

    def __init__(self, desk: Desk) -> None:
        self.door = Door(desk, self._greet, self._admit, self._entered, self._rejected, self._denied)
        self.neighbours: Neighbours  # set by the node: they knock at this door
        self.meeting: Meeting
        self.censuses: Censuses
        self.dialler: Dialler
        self.clients: Clients
        self.links: DataLinks
        self._desk = desk

    def hello(self, conn: Conn, command: Hello) -> None:
        """Somebody dialled us; once it is in, what it is owed may follow."""
        self.door.hello(conn, command)
        if not conn.is_open:
            return
        if conn.user:
            self._desk.emit(Proven(conn.user))
        session, peer = self.clients.of(conn), self.neighbours.of(conn)
        if peer is not None:
            self.meeting.connected(conn, peer)
            self.censuses.compare(conn, command.alive)
        if session is not None:
            self.clients.welcomed(session, command.have if command.boot_seen == self._desk.me.boot else 0)
        elif peer is not None and conn.role == NODE_DATA:
            self._logged_in(peer, conn)

    @property
    def _alive(self) -> int:
        return self.neighbours.membership.count

    def _greet(self, conn: Conn) -> Hello:
        """Our own first words."""
        peer = self.neighbours.of(conn)
        state: dict[str, Any] = {"alive": self._alive}
        if peer is not None and conn.role == NODE_DATA:
            state.update(self.links.greeting(peer))
        keyring = self._desk.settings.keyring
        if peer is not None and keyring is not None and peer.node.name in keyring.passwds:
            state["passwd"] = keyring.passwds[peer.node.name]
        versions = (VERSION_MIN, VERSION_MAX)
        cluster = self._desk.settings.cluster
        return Hello(versions, conn.role, cluster, conn.nonce, node=self._desk.me, software=SOFTWARE, **state)

    def _admit(self, conn: Conn, h: Hello) -> Welcome | Refuse:
        if h.role == CLIENT:
            session = self.clients.admit(conn, h)
            return session if isinstance(session, Refuse) else self.clients.welcome(session)
        peer = self.meeting.admit(conn, h)
        if isinstance(peer, Refuse):
            return peer
        state: dict[str, Any] = {"nodes": self.neighbours.others(peer.node.uuid), "alive": self._alive}
        if h.role == NODE_DATA:
            conn.resume = self.links.meet(peer, h)
            state.update(self.links.greeting(peer))
        return Welcome(VERSION_MAX, self._desk.me, self._desk.settings.cluster, **state)

    def _entered(self, conn: Conn, w: Welcome) -> None:
        peer = self.meeting.entered(conn, w.node)
        if peer is None:
            return
        self.meeting.connected(conn, peer)
        self.neighbours.introduced(w.nodes)
        self.censuses.compare(conn, w.alive)
        if conn.role == NODE_DATA:
            conn.resume = self.links.meet(peer, w)
            self._logged_in(peer, conn)

    def _logged_in(self, peer: Peer, conn: Conn) -> None:
        self.dialler.apply(peer, peer.link.hello(self._desk.now))
        self.links.login(peer, conn, conn.resume)

    def _denied(self, conn: Conn, r: Refuse) -> None:
        self.meeting.denied(conn, r)

    def _rejected(self, conn: Conn, r: Refuse, is_proven: bool) -> None:
        self.meeting.rejected(conn, r, is_proven)
