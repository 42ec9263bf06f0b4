"""Who else is there? In a crowd not everybody greets everybody: who knows too few asks who knows more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.desk.part import HandlerEntry, Part, take
from mesh.core.peers.introductions import to_wire
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.peers.rounds import CROWD
from mesh.wire.commands import NODE_CONTROL, Census, Rumours

AGAIN = 1.0  # s between two questions: a newcomer may meet many at once, and each would tell it the same
KNOWS = 0.9  # of those whom another node counts: who knows fewer asks for all
MANY = 1000  # nodes in one message of the answer


class Censuses(Part):
    """Both ends of the question."""

    def __init__(self, desk: Desk, neighbours: Neighbours) -> None:
        self._desk = desk
        self._neighbours = neighbours
        self._asked = -AGAIN  # when we last did
        self._awaited: Conn | None = None  # whence the answer to a question for all will come

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (
            take(Census, lambda conn, peer, command, _: self._answer(conn, command)),
            take(Rumours, lambda conn, peer, command, _: self._rumours(conn, peer, command)),
        )

    def _rumours(self, conn: Conn, peer: Peer, rumours: Rumours) -> None:
        self._neighbours.liveness.rumours(peer, rumours, self._is_answer(conn, rumours))

    def compare(self, conn: Conn, alive: int) -> None:
        """The other end counts so many. Rumours are only of what changes: a newcomer asks for the rest."""
        knows_few = self._neighbours.membership.count < alive * KNOWS
        if conn.role == NODE_CONTROL and alive > CROWD and knows_few and self._may_ask():
            self._awaited = conn
            self._desk.send(conn, Census())

    def mentioned(self, by: bytes, uuids: Iterable[bytes]) -> None:
        """`by` hands on the states of these; of whom we never heard, a rumour has not reached us."""
        strangers = tuple(uuid for uuid in uuids if self._neighbours.membership.of(uuid) is None)
        peer = self._neighbours.peers.get(by)
        if strangers and peer is not None and peer.reach.question is None and self._may_ask():
            self._neighbours.liveness.ask(peer, Census(strangers[:MANY]))

    def _may_ask(self) -> bool:
        is_lost = self._awaited is not None and self._awaited.closed
        if not is_lost and self._desk.now - self._asked < AGAIN:
            return False
        self._asked, self._awaited = self._desk.now, None
        return True

    def _is_answer(self, conn: Conn, rumours: Rumours) -> bool:
        """Does this tell us of all, as we asked? What nobody asked for is news like any other."""
        is_awaited = conn is self._awaited and len(rumours.rumours) > CROWD
        if is_awaited:
            self._awaited = None
        return is_awaited

    def _answer(self, conn: Conn, census: Census) -> None:
        """As rumours, which are weighed as any others."""
        known = self._neighbours.membership.known()
        if census.uuids:
            wanted = set(census.uuids)
            known = tuple(rumour for rumour in known if rumour.node.uuid in wanted)
        for first in range(0, len(known), MANY):
            self._desk.send(conn, Rumours(to_wire(known[first : first + MANY])))
