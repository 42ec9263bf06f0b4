"""One node, without its sockets: frames and time go in, effects come out.

The shell calls `receive`, `stored`, `disconnected` and `tick`, and after each carries out what
`take_effects()` returns, in order. The very same core runs in a simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from discovery.state import Sample
from mesh.core.conn import Conn
from mesh.core.door import is_too_long
from mesh.core.effects import ConnKey, Effect
from mesh.core.parts import Parts
from mesh.core.peer import Peer
from mesh.core.records import read_record
from mesh.errors import LocalError, MeshError, RemoteError
from mesh.store.base import Image
from mesh.wire import commands as c
from mesh.wire.envelope import TAILED, decode
from mesh.wire.frames import read

HOLD_CHECK = 0.05  # s between looks at what is held back
STREAM_KEPT = 24 * 3600.0  # s that a vanished publisher's stream is remembered
ALARM = 3600.0  # s: nothing sleeps longer
LAZY_COMMIT = 1.0  # s that changes which nobody waits for may stay in memory


class NodeCore(Parts):
    """Everything a node decides."""

    # --- what the shell calls -----------------------------------------------------------------------

    def start(
        self, image: Image, now: float, wall: int, shell_status: Callable[[], dict[str, Any]] = dict,
        sample: Callable[[], Sample] | None = None,
    ) -> None:  # fmt: skip
        """Take up what the store holds. `sample` measures the machine; without it no state is gossiped."""
        self._at(now, wall)
        self._shell_status = shell_status
        tables = image.tables
        self._meeting.start()
        self.neighbours.start(tables.get("peer", {}))
        self.weights.restore(tables.get("weights", {}))
        self.gossiping.start(sample)
        positions = tables.get("position", {})
        feeds = tables.get("feed", {})
        self.router.log.restore(
            tables.get("stream", {}), tables.get("retained", {}).values(), image.next_position, now
        )
        self.desk.stamped(self.router.log.newest)
        self.clients.restore({k: v for k, v in feeds.items() if k[:1] == b"c"}, positions)
        self.inboxes.restore(positions)
        wanting: dict[bytes, Peer] = {}
        for key, record in feeds.items():
            if key[:1] == b"n":
                uuid, known = key[1:17], read_record(record)
                peer = wanting.get(uuid) or self._make_peer(c.Introduction(uuid, known.owner, 0, ""))
                wanting[uuid] = self.neighbours.peers[uuid] = peer
                self.links.restore(peer, key, known, positions.get(peer.feed.key, b""))
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
        self.recording.start()
        self.tick(now, wall)

    def accept(self, key: ConnKey, endpoint: str, trusted: bool, user: str = "") -> None:
        """A connection came in that the shell has not named before; `user`: its public CURVE key."""
        now = self.desk.now
        self.desk.count("connections")
        self._conns[key] = Conn(key, False, trusted, endpoint, now, now, user=user)

    def receive(self, key: ConnKey, frames: list[bytes], now: float, wall: int) -> None:
        """A message on a connection."""
        self._at(now, wall)
        conn = self._conns.get(key)
        if conn is None or conn.closed:
            return
        conn.heard = now
        if is_too_long(conn, frames):
            self.desk.count("not_open")
            self.desk.send(conn, c.Who())
            return
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

    def gossiped(self, frames: list[bytes], now: float, wall: int) -> None:
        """A message from a PUB that is listened to."""
        self._at(now, wall)
        self.gossiping.heard(frames)

    def knocked(self, uuid: bytes, refused: bool, now: float, wall: int) -> None:
        """What the operating system at a node's address said to a Knock."""
        self._at(now, wall)
        self.neighbours.liveness.knocked(uuid, refused)

    def left(self, now: float, wall: int) -> None:
        """Somebody who had dialled us is gone. A ping finds out who: to the one that is gone it fails."""
        self._at(now, wall)
        self.neighbours.ping_all()

    def advertised(self, node: c.Introduction, now: float, wall: int) -> None:
        """Multicast DNS tells of a node."""
        self._at(now, wall)
        self.desk.count("adverts")
        if node.uuid != self.desk.me.uuid:
            self.neighbours.sighted(node, "mdns")

    def readdressed(self, address: str, also: tuple[str, ...], now: float, wall: int) -> None:
        """This node is to be found elsewhere from now on."""
        self._at(now, wall)
        self.desk.me = msgspec.structs.replace(self.desk.me, address=address, also=also)
        self.neighbours.readdressed()

    def lagged(self, seconds: float) -> None:
        """The loop was late by so much: what others could have said meanwhile is heard first."""
        self.neighbours.membership.lagged(seconds)

    def tell(self, kind: str, text: str, now: float, wall: int, level: str = "info") -> None:
        """Something happened in the shell that people may want to read about."""
        self._at(now, wall)
        self.desk.event(kind, text, level=level)

    def tick(self, now: float, wall: int) -> None:
        """Time has passed."""
        self._at(now, wall)
        self.desk.alarm = now + ALARM
        silence = self.desk.settings.silence
        for conn in [x for x in self._conns.values() if x.role == c.CLIENT and now - x.heard > silence]:
            self.desk.hang_up(conn)
            self._ended(conn)
        self.neighbours.tick()
        self.gossiping.tick()
        self.weights.tick()
        self.recording.tick()
        self.clients.tick()
        self.questions.review()
        self.demand.tick()
        self.forwarder.tick()
        for key in [k for k, x in self._conns.items() if x.closed]:
            del self._conns[key]
        if now - self._committed >= LAZY_COMMIT:
            self._committed = now
            self._forget_the_lost()
            self.router.log.forget_idle(now - STREAM_KEPT)
            self.inboxes.tick()
            self.router.commit_later()
        self.desk.wake(self.neighbours.deadline())
        self.desk.wake(self.questions.deadline())

    def _forget_the_lost(self) -> None:
        """What nodes want that have been away for too long."""
        lost = self.desk.now - self.desk.settings.peer_linger
        for peer in self.neighbours.peers.values():
            if peer.feed.queries and not peer.feed.connected and peer.feed.gone_since < lost:
                self.links.forget(peer)

    @property
    def alarm(self) -> float:
        """When tick() is next worth calling."""
        return self.desk.alarm

    def take_effects(self) -> list[Effect]:
        """What is to be done now, in order."""
        self._flush()
        desk = self.desk
        effects, desk.effects = desk.effects, []
        return effects

    def _flush(self) -> None:
        """Put on their way what has gathered for clients and for other nodes."""
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

    def goodbye(self, now: float, wall: int) -> None:
        """Leave on purpose: tell everybody. Nothing that is counted happens after it."""
        self._at(now, wall)
        self._flush()  # before the word goodbye, behind which nobody listens; and it is counted
        forward = tuple(p.node.address for p in self.neighbours.alive() if p.node.address)
        for conn in list(self._conns.values()):
            # Another process of our identity would be taken for gone, too.
            if conn.is_open and (conn.role == c.CLIENT or not self.desk.is_doubled):
                self.desk.send(conn, c.Bye("stopping", forward))
        self.recording.finish()
        self.router.commit_later()

    # --- within -----------------------------------------------------------------------------------------

    def _at(self, now: float, wall: int) -> None:
        self.desk.at(now, wall)

    def _broke_protocol(self, conn: Conn, error: MeshError) -> None:
        session, peer = self.clients.of(conn), self.neighbours.of(conn)
        who = session.text if session else peer.node.name if peer else "a stranger"
        self.desk.count("malformed")
        # Who is not in yet could be anybody: he is counted, and fills no log.
        level = "warning" if conn.is_open else "info"
        self.desk.note(level, f"{who} broke the protocol, its connection is closed: {error}")
        self.desk.send(conn, c.Refuse(error.code, error.what))
        self.desk.hang_up(conn)
        self._ended(conn)
