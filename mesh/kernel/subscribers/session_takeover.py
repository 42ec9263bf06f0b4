"""Checks whether the holder of a session still lives, if another client claims the session.

A killed program may leave a connection that is not yet known to be dead. The holder is therefore asked, and
the claimant waits for the answer. A holder of an earlier process of the node may be at another node: the
claimant waits as long for that node to link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.facts import HolderGone, HolderLives
from mesh.kernel.subscribers.session import Session
from mesh.kernel.subscribers.session_refusals import busy, in_use
from mesh.wire.commands import Hello, Ping, Pong

ANSWER = 2.0  # s, longer than pauses of a program, shorter than a handshake


@dataclass(slots=True)
class HolderQuestion:
    """The time and number of the question to a holder, and the waiting claimants."""

    since: float
    stamp: int
    waiting: dict[Conn, Hello] = field(default_factory=dict)


class SessionTakeover:
    """The sessions that other clients claim.

    `lost(session)` is called for a holder that does not answer and has no work. The outcome of each claim
    whose connection is still open is published as HolderLives or HolderGone.
    """

    def __init__(self, context: NodeContext, lost: Callable[[Session], None]) -> None:
        self._context = context
        self._lost = lost
        self._asked: dict[Session, HolderQuestion] = {}
        self._stamp = 0

    def ask_holder(self, holder: Session, conn: Conn, hello: Hello) -> None:
        """Ask the holder of a session whether it lives, as the client on `conn` claims that session."""
        asked = self._asked.get(holder)
        if asked is None:
            self._stamp += 1
            asked = self._asked[holder] = HolderQuestion(self._context.clock.now, self._stamp)
            if holder.conn is not None:
                self._context.out.send(holder.conn, Ping(asked.stamp))
            self._context.clock.wake(self._context.clock.now + ANSWER)
        asked.waiting[conn] = hello

    def on_pong(self, holder: Session, pong: Pong) -> None:
        """Refuse the claimants if `pong` answers the question; earlier messages of a holder prove nothing."""
        asked = self._asked.get(holder)
        if asked is not None and asked.stamp == pong.stamp:
            self.on_holder_back(holder)

    def on_holder_back(self, holder: Session) -> None:
        """Refuse the claimants, as the holder lives."""
        asked = self._asked.pop(holder, None)
        for conn, hello in asked.waiting.items() if asked is not None else ():
            if not conn.closed:
                self._context.facts.publish_fact(HolderLives(conn, hello, in_use(holder)))

    def on_holder_gone(self, holder: Session) -> None:
        """Publish HolderGone for each waiting claim, as the holder left or lost its connection."""
        asked = self._asked.pop(holder, None)
        for conn, hello in asked.waiting.items() if asked is not None else ():
            if not conn.closed:
                self._context.facts.publish_fact(HolderGone(conn, hello))

    def tick(self) -> None:
        """Disconnect each holder that has not answered in time, or refuse its claimants if it has work."""
        for holder, asked in list(self._asked.items()):
            if self._context.clock.now - asked.since < ANSWER:
                self._context.clock.wake(asked.since + ANSWER)
            elif self._context.face.has_work(holder):
                self._is_busy(holder)
            else:
                self._lost(holder)

    def _is_busy(self, holder: Session) -> None:
        """Refuse claimants for now, as the holder may be blocked by its work."""
        for conn, hello in self._asked.pop(holder).waiting.items():
            if not conn.closed:
                self._context.facts.publish_fact(HolderLives(conn, hello, busy(holder)))
