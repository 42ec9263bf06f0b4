"""Asks other nodes for members that this node does not know.

In a crowd not all nodes are connected, so a node that knows too few members asks a better-informed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.introductions import to_wire
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.rounds import CROWD
from mesh.wire.commands import NODE_CONTROL, Census, Rumours

AGAIN = 1.0  # s between two questions, as many peers may answer alike
KNOWS = 0.9  # share of another node's count, below which to ask
MANY = 1000  # nodes in one message of the answer


class Censuses(Component):
    """The census component: asks for unknown members, and answers such questions."""

    def __init__(self, context: NodeContext, neighbours: Neighbours) -> None:
        self._context = context
        self._neighbours = neighbours
        self._asked = -AGAIN  # time of the last question
        self._awaited: Conn | None = None  # where the answer for all members comes

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (
            on_command(Census, lambda conn, peer, command, _: self._send_rumors(conn, command)),
            on_command(Rumours, lambda conn, peer, command, _: self._rumours(conn, peer, command)),
        )

    def _rumours(self, conn: Conn, peer: Peer, rumours: Rumours) -> None:
        self._neighbours.liveness.rumours(peer, rumours, self._is_answer(conn, rumours))

    def compare(self, conn: Conn, alive: int) -> None:
        """Ask the other end for all members if it counts many more live nodes than this node.

        Rumors only report changes, so a newcomer must ask for the rest.
        """
        knows_few = self._neighbours.membership.count < alive * KNOWS
        if conn.role == NODE_CONTROL and alive > CROWD and knows_few and self._may_ask():
            self._awaited = conn
            self._context.out.send(conn, Census())

    def mentioned(self, by: bytes, uuids: Iterable[bytes]) -> None:
        """Ask the node `by`, which relays the states of `uuids`, about the unknown ones."""
        strangers = tuple(uuid for uuid in uuids if self._neighbours.membership.member_of(uuid) is None)
        peer = self._neighbours.peers.get(by)
        if strangers and peer is not None and peer.reach.question is None and self._may_ask():
            self._neighbours.liveness.send_question(peer, Census(strangers[:MANY]))

    def _may_ask(self) -> bool:
        is_lost = self._awaited is not None and self._awaited.closed
        if not is_lost and self._context.clock.now - self._asked < AGAIN:
            return False
        self._asked, self._awaited = self._context.clock.now, None
        return True

    def _is_answer(self, conn: Conn, rumours: Rumours) -> bool:
        """Return whether these rumors answer our question for all members, and are not ordinary news."""
        is_awaited = conn is self._awaited and len(rumours.rumours) > CROWD
        if is_awaited:
            self._awaited = None
        return is_awaited

    def _send_rumors(self, conn: Conn, census: Census) -> None:
        """Answer a census with rumors, which the other end treats like all other rumors."""
        known = self._neighbours.membership.known()
        if census.uuids:
            wanted = set(census.uuids)
            known = tuple(rumour for rumour in known if rumour.node.uuid in wanted)
        for first in range(0, len(known), MANY):
            self._context.out.send(conn, Rumours(to_wire(known[first : first + MANY])))
