"""Decides which clients are disconnected for their silence."""

# Law 1: a client that has nothing to settle is disconnected after `silence`.
# Law 2: a client that has messages of a queue or group, or requests, is disconnected after `busy`: its
#        event loop may be blocked by that work. The end of its program or machine ends its connection sooner.
# Law 3: the program that embeds the node is never disconnected.

from __future__ import annotations

from collections.abc import Iterable

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.session import Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.wire.commands import CLIENT

KIND = "silent client"  # kind of the events
ADVICE = "its event loop may be blocked, or its program stopped"


def is_given_up(unheard: float, has_work: bool, silence: float, busy: float) -> bool:
    """Return whether to disconnect a client that was silent for `unheard` seconds."""
    return unheard > (max(silence, busy) if has_work else silence)


class SilentClients:
    """Disconnects clients that are silent for too long, and reports silent clients with work."""

    def __init__(self, context: NodeContext, sessions: Sessions) -> None:
        self._context = context
        self._sessions = sessions
        self._reported: dict[Conn, float] = {}  # last traffic when it was reported

    def disconnect_silent(self, conns: Iterable[Conn]) -> None:
        now, silence = self._context.clock.now, self._context.settings.silence
        silent = [x for x in conns if x.role == CLIENT and now - x.heard > silence and not x.within]
        for conn in silent:
            session = self._sessions.session_of(conn)
            self._judge(conn, session, session is not None and self._context.face.has_work(session))
        self._reported = {conn: self._reported[conn] for conn in silent if conn in self._reported}

    def _judge(self, conn: Conn, session: Session | None, has_work: bool) -> None:
        unheard, settings = self._context.clock.now - conn.heard, self._context.settings
        is_over = is_given_up(unheard, has_work, settings.silence, settings.busy)
        if session is not None and has_work and (is_over or self._reported.get(conn) != conn.heard):
            self._reported[conn] = conn.heard
            what = (
                "the client is disconnected"
                if is_over
                else f"the node waits {settings.busy:,.0f} s (timing.busy)"
            )
            text = f"{session.text} has been silent for {unheard:,.0f} s, and has work: {ADVICE}; {what}"
            self._context.event(KIND, text, level="warning")
        if is_over:
            self._context.end_connection(conn)
