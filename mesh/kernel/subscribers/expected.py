"""The sessions of this node that may be at another node or between two nodes."""

# Law 1: a session is expected for `linger` seconds after this node started, the link with the node that it
#        visited was lost, it left for another node, or a certificate proved that it moved.
# Law 2: its node's next report of it, its return, and its end replace the expectation.

from __future__ import annotations

from mesh.flow.bounded import Bounded
from mesh.names import SessionName

CLIENTS, SESSIONS = 10_000, 1_000  # clients, and sessions of a client; the oldest is forgotten


class ExpectedSessions:
    """Expected sessions: persistent messages wait for them, although they are not known to be connected."""

    def __init__(self) -> None:
        self._until = Bounded[str, Bounded[str, float]](CLIENTS)  # by client and session

    def expect(self, session: SessionName, until: float) -> None:
        ours = self._until.get(session.client)
        if ours is None:
            ours = Bounded[str, float](SESSIONS)
        ours.keep(str(session), until)
        self._until.keep(session.client, ours)

    def forget_session(self, session: SessionName) -> None:
        ours = self._until.get(session.client)
        if ours is not None:
            ours.pop(str(session), None)

    def includes(self, name: SessionName, now: float) -> bool:
        """Return whether that session, or a session of that client, is expected."""
        ours = self._until.get(name.client)
        if ours is None:
            return False
        if name.session is None:
            return any(until >= now for until in ours.values())
        return ours.get(str(name), float("-inf")) >= now

    def drop_overdue(self, now: float) -> None:
        for client, ours in list(self._until.items()):
            for session in [session for session, until in ours.items() if until < now]:
                del ours[session]
            if not ours:
                del self._until[client]
