"""Sends the clients of a drained node to other nodes."""

# Law 1: a client is redirected when its feeds are empty, or EMPTY seconds after its turn began. Consumers and
#        services go first: they receive nothing new since the step QUIET.
# Law 2: a client that does not leave within PATIENCE seconds is disconnected, and its session stays here.
# Law 3: a client that came back TRIES times, or that cannot move, keeps its node. Operators, and the program
#        that embeds this node, are never redirected.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mesh.kernel.client_room import ClientRoom
from mesh.kernel.context.component import Component
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.leaving import Fate, Left, Step
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.subscribers.session import Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.wire.commands import Bye
from mesh.wire.connection import DRAINING
from mesh.wire.limits import VISITS

PAUSE, TOGETHER = 0.1, 10  # s between two rounds, and clients redirected in one: 100 a second
EMPTY = 2.0  # s for the feeds of a client to empty
PATIENCE = 15.0  # s for a client to finish its work and leave
TRIES = 3
OLD = "their release cannot move to another node"
BACK = "they can reach no other node, and came back"
FULL = "no other node has room for them"


@dataclass(slots=True)
class Turn:
    """The turn of one client to leave: when it began, and on which connection BYE was sent."""

    since: float
    conn: Conn | None = None
    sent: float = 0.0  # time of BYE
    tries: int = 0


class Redirecting(Component):
    """Component that redirects the clients of this node while it is drained."""

    def __init__(self, context: NodeContext, nodes: Nodes, sessions: Sessions, room: ClientRoom) -> None:
        self._context = context
        self._nodes = nodes
        self._sessions = sessions
        self._room = room
        self._turns: dict[bytes, Turn] = {}  # by stream
        self._next = 0.0  # time of the next round

    def remains(self) -> Iterator[Left]:
        held = self._held()
        if held:
            is_down = bool(self._nodes.away())
            fate = Fate.WAITS if is_down else Fate.MOVES
            why = "a master that is down must release them" if is_down else "their new nodes take them over"
            yield Left(Step.LOG, "sessions that moved", held, fate, why=why)
        fates: dict[tuple[Fate, str], int] = {}
        busy = 0
        for session in self._clients():
            fate, why = self._fate_of(session)
            fates[fate, why] = fates.get((fate, why), 0) + 1
            busy += fate is Fate.MOVES and self._context.face.has_work(session)
        if busy:
            yield Left(Step.QUIET, "clients with calls or messages in progress", busy)
        for (fate, why), count in fates.items():
            yield Left(Step.CLIENTS, "clients", count, fate, why=why)

    def redirect_clients(self) -> None:
        """Redirect the next clients, if it is their step and the time for a round has come."""
        now = self._context.clock.now
        if self._context.leaving.step < Step.CLIENTS or now < self._next:
            return
        self._next = now + PAUSE
        self._context.clock.wake(self._next)
        budget = TOGETHER
        leaving = [each for each in self._clients() if self._fate_of(each)[0] is Fate.MOVES]
        for session in sorted(leaving, key=self._context.face.has_consumer, reverse=True):
            turn = self._turns.setdefault(session.stream, Turn(now))
            if turn.conn is session.conn:
                self._check_patience(session, turn, now)
            elif budget and (now - turn.since >= EMPTY or not _is_owed(session)):
                budget -= self._redirect(session, turn, now)

    def forget_turns(self) -> None:
        """Forget which clients were redirected, as the drain was canceled or is tried again."""
        self._turns.clear()

    def _clients(self) -> Iterator[Session]:
        """Yield the connected sessions that have to leave."""
        for session in self._sessions.by_stream.values():
            conn = session.conn
            if conn is not None and not conn.within and not session.is_operator:
                yield session

    def _fate_of(self, session: Session) -> tuple[Fate, str]:
        assert session.conn is not None
        turn = self._turns.get(session.stream)
        if VISITS not in session.conn.speaks:
            return Fate.STAYS, OLD
        if turn is not None and turn.tries >= TRIES and turn.conn is not session.conn:
            return Fate.STAYS, BACK
        is_told = turn is not None and turn.conn is session.conn
        return Fate.MOVES, "" if is_told or self._room.has_others else FULL

    def _redirect(self, session: Session, turn: Turn, now: float) -> bool:
        """Send BYE with the addresses of other nodes; return False if there is none with room."""
        assert session.conn is not None
        others = self._room.others(session.conn, session.stream)
        if others:
            self._context.out.send(session.conn, Bye(DRAINING, tuple(node.address for node in others)))
            turn.conn, turn.sent, turn.tries = session.conn, now, turn.tries + 1
            session.is_moving = True
        return bool(others)

    def _check_patience(self, session: Session, turn: Turn, now: float) -> None:
        if now - turn.sent > PATIENCE and session.conn is not None:
            self._context.end_connection(session.conn)

    def _held(self) -> int:
        me, visits = self._context.me.uuid, self._context.visits
        return sum(visits.has_left(stream, me) for stream in self._sessions.by_stream)


def _is_owed(session: Session) -> bool:
    return any(feed.is_owed for feed in session.feeds.values())
